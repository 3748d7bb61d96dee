# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=sh
# Short names for the fabrics of one host, for scripts that test/run-env starts.

# shellcheck disable=SC2034
t_fabrics='tcp memory rings tcp-rdm shm rxm net sham-efa sham-cxi sham-cxi-client-keys sham-opx
	sockets sockets-rdm rxd psm3'

# t_core: prints the default of FI_SHAM_CORE, the provider below test/fabric: libfabric's
# connectionless TCP, which 1.17 calls net. (shm of 1.17 loses messages; its faults would look like
# faults of the card.)
t_core() {
	case $(dat_info --version) in
	*"libfabric 1.17"[!0-9]*) echo net ;;
	*) echo tcp ;;
	esac
}

# t_fabric NAME: sets t_params to the ia_params of that fabric, and the variables that libfabric
# needs to find it. memory-NAME and rings-NAME are the same with shared memory. Names that are not
# listed are names of libfabric's providers. T_PARAMS overrides.
t_fabric() {
	# The variable chooses, so a program can override it.
	case $1 in
	memory-* | rings-*)
		t_fabric "${1#*-}"
		t_params="$t_params same_host=${1%%-*}"
		return
		;;
	tcp | memory | rings | verbs*) ;;
	*) export DAT_OFI_ADDR="${DAT_OFI_ADDR-127.0.0.1}" ;;
	esac
	case $1 in
	tcp) t_params='provider=tcp domain=lo' ;;
	memory) t_params='provider=tcp domain=lo same_host=memory' ;;
	rings) t_params='provider=tcp domain=lo same_host=rings' ;;
	tcp-rdm) t_params="provider=tcp transport=rdm domain=lo" ;;
	rxm) t_params="provider=tcp;ofi_rxm transport=rdm domain=lo" ;;
	net) t_params="provider=net transport=rdm domain=lo" ;;
	sockets) t_params='provider=sockets transport=msg domain=lo' ;;
	sockets-rdm) t_params='provider=sockets transport=rdm domain=lo' ;;
	# A transfer of 32 MiB takes some seconds on a busy machine, and a connection may end during
	# it.
	rxd) t_params='provider=udp;ofi_rxd domain=lo linger_ms=20000' ;;
	verbs) t_params="provider=verbs domain=${T_DEVICE-rxe0}" ;;
	verbs-rxm)
		t_params="provider=verbs;ofi_rxm domain=${T_DEVICE-rxe0}"
		# The provider's default completion queue is longer than Soft-RoCE allows.
		export FI_UNIVERSE_SIZE="${FI_UNIVERSE_SIZE-64}"
		;;
	psm3)
		# Without its hardware psm3 uses the sockets of a network interface that is up, but
		# not those of the loopback interface.
		t_params='provider=psm3'
		export PSM3_HAL="${PSM3_HAL-sockets}"
		;;
	sham-*)
		t_params="provider=sham domain=${1#sham-}"
		FI_SHAM_CORE=${FI_SHAM_CORE-$(t_core)}
		FI_PROVIDER_PATH=${top_builddir:?run me by test/run-env}/test/fabric/.libs
		export FI_PROVIDER_PATH FI_SHAM_CORE
		;;
	efa*)
		t_params="provider=efa"
		# Processes of one host use the device, not libfabric's shm.
		export FI_EFA_ENABLE_SHM_TRANSFER="${FI_EFA_ENABLE_SHM_TRANSFER-0}"
		;;
	*) t_params="provider=$1" ;;
	esac
	t_params=${T_PARAMS-$t_params}
}

# t_with_device NAME COMMAND...: runs the command with the software EFA device if NAME is efa, efa1
# or efa0, or one of these followed by -sSEED. If a device runs already, or T_EFA=card asks for that
# of the host, no other one is started.
t_with_device() {
	t_class=${1#memory-}
	t_class=${t_class#rings-}
	t_seed=${t_class#"${t_class%%-*}"}
	t_class=${t_class%%-*}
	shift
	case $t_class,${SOFTEFA_FILE:+has},${T_EFA-} in
	efa,,) "${top_srcdir:?}/test/efa/run" -c efa2 -s "${t_seed#-s}" "$@" ;;
	efa[01],,) "$top_srcdir/test/efa/run" -c "$t_class" -s "${t_seed#-s}" "$@" ;;
	*) "$@" ;;
	esac
}

# t_fabric_conf NAME IA: prints lines of dat.conf for both generations
t_fabric_conf() {
	t_fabric "$1"
	for t_line in "u1.2 nonthreadsafe default $top_builddir/prov/ofi/.libs/libdatofi.so.1" \
		"u2.0 nonthreadsafe default $top_builddir/prov/ofi/.libs/libdatofi.so.2"; do
		echo "$2 $t_line dat-ofi.0.1 \"$t_params\" \"\""
	done
}
