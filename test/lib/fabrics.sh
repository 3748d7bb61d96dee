# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=sh
# The fabrics of one host by short names, for scripts that run by test/run-env.

# shellcheck disable=SC2034
t_fabrics='tcp tcp-rdm shm rxm net sham-efa sham-cxi sham-cxi-client-keys sham-opx
	sockets sockets-rdm rxd psm3'

# What test/fabric works on unless FI_SHAM_CORE says: libfabric's own connectionless TCP, called net
# in 1.17 alone. (shm of 1.17 does not find all messages, and its faults would be those of the
# card.)
t_core() {
	case $(dat_info --version) in
	*"libfabric 1.17"[!0-9]*) echo net ;;
	*) echo tcp ;;
	esac
}

# t_fabric NAME: leaves the ia_params of that fabric in t_params and sets what libfabric needs to
# find it. Other names are those of libfabric's providers. T_PARAMS wins.
t_fabric() {
	# By the variable, so that a program may choose another one.
	case $1 in
	tcp | memory | verbs*) ;;
	*) export DAT_OFI_ADDR="${DAT_OFI_ADDR-127.0.0.1}" ;;
	esac
	case $1 in
	tcp) t_params='provider=tcp domain=lo' ;;
	memory) t_params='provider=tcp domain=lo same_host=memory' ;;
	tcp-rdm) t_params="provider=tcp transport=rdm domain=lo" ;;
	rxm) t_params="provider=tcp;ofi_rxm transport=rdm domain=lo" ;;
	net) t_params="provider=net transport=rdm domain=lo" ;;
	sockets) t_params='provider=sockets transport=msg domain=lo' ;;
	sockets-rdm) t_params='provider=sockets transport=rdm domain=lo' ;;
	# 32 MiB, which a connection may end in the middle of, take some seconds there on a busy
	# machine.
	rxd) t_params='provider=udp;ofi_rxd domain=lo linger_ms=20000' ;;
	verbs) t_params="provider=verbs domain=${T_DEVICE-rxe0}" ;;
	verbs-rxm)
		t_params="provider=verbs;ofi_rxm domain=${T_DEVICE-rxe0}"
		# By default it asks for a longer completion queue than Soft-RoCE has.
		export FI_UNIVERSE_SIZE="${FI_UNIVERSE_SIZE-64}"
		;;
	psm3)
		# Without its hardware it takes the sockets of a netdev that is up and not the
		# loopback.
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
		# Its packets are what is to be seen, not those of shm between processes of one
		# host.
		export FI_EFA_ENABLE_SHM_TRANSFER="${FI_EFA_ENABLE_SHM_TRANSFER-0}"
		;;
	*) t_params="provider=$1" ;;
	esac
	t_params=${T_PARAMS-$t_params}
}

# t_with_device NAME COMMAND...: runs the command with the hardware that the fabric is played on:
# for efa, efa1 and efa0, and the same followed by -sSEED, the software EFA device of that class,
# unless there is one already or T_EFA=card asks for the host's.
t_with_device() {
	t_class=${1%%-*} t_seed=${1#"${1%%-*}"}
	shift
	case $t_class,${SOFTEFA_FILE:+has},${T_EFA-} in
	efa,,) "${top_srcdir:?}/test/efa/run" -c efa2 -s "${t_seed#-s}" "$@" ;;
	efa[01],,) "$top_srcdir/test/efa/run" -c "$t_class" -s "${t_seed#-s}" "$@" ;;
	*) "$@" ;;
	esac
}

# t_fabric_conf NAME IA: lines of dat.conf for both generations
t_fabric_conf() {
	t_fabric "$1"
	for t_line in "u1.2 nonthreadsafe default $top_builddir/prov/ofi/.libs/libdatofi.so.1" \
		"u2.0 nonthreadsafe default $top_builddir/prov/ofi/.libs/libdatofi.so.2"; do
		echo "$2 $t_line dat-ofi.0.1 \"$t_params\" \"\""
	done
}
