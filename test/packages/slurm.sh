#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Runs the sample job of contrib/slurm under a real Slurm: controller and first node on one host,
# the second node on another host.
# shellcheck source=test/lib/tap.sh
. "${top_srcdir:?run me by make check-packages}/test/lib/tap.sh"
# shellcheck source=test/packages/root.sh
. "$top_srcdir/test/packages/root.sh"
r_begin "$0"

cluster() {
	r_new cluster && r_apt cluster update &&
		r_apt cluster install slurmctld slurmd slurm-client munge &&
		r_install cluster || return
	root=$t_dir/cluster.root
	printf '127.0.0.1 localhost\n10.77.0.1 n1\n10.77.0.2 n2\n' >"$root/etc/hosts"
	mkdir -p "$root/etc/slurm" "$root/spool" "$root/run/munge" "$root/job"
	cat >"$root/etc/slurm/slurm.conf" <<-'EOF'
	ClusterName=test
	SlurmctldHost=n1
	SlurmUser=root
	StateSaveLocation=/spool/controller
	SlurmdSpoolDir=/spool/%n
	SlurmctldPidFile=/run/slurmctld.pid
	SlurmdPidFile=/run/slurmd-%n.pid
	ProctrackType=proctrack/linuxproc
	TaskPlugin=task/none
	JobAcctGatherType=jobacct_gather/none
	SelectType=select/linear
	SlurmdParameters=config_overrides
	ReturnToService=2
	NodeName=n[1-2] CPUs=1 State=UNKNOWN
	PartitionName=all Nodes=ALL Default=YES State=UP
	EOF
	echo 'CgroupPlugin=cgroup/v1' >"$root/etc/slurm/cgroup.conf"
	cp "$top_srcdir/contrib/slurm/dat_perf.sbatch" "$root/job"
}

# on1 COMMAND...: runs it in the root, on the first host
on1() {
	R_NET=$r_on1 r_in cluster "$@"
}

# The daemons write their logs into /spool.
daemons() {
	on1 sh -ec 'chown -R munge: /run/munge; mkdir -p /spool/controller
		[ -e /etc/munge/munge.key ] || mungekey -c; chown munge: /etc/munge/munge.key
		setpriv --reuid=munge --regid=munge --clear-groups munged
		munge -n | unmunge >/dev/null' || return
	on1 slurmctld -D >"$t_dir/slurmctld" 2>&1 &
	t_pids="$t_pids $!"
	on1 slurmd -D -N n1 >"$t_dir/slurmd1" 2>&1 &
	t_pids="$t_pids $!"
	R_NET=$r_on2 r_in cluster slurmd -D -N n2 >"$t_dir/slurmd2" 2>&1 &
	t_pids="$t_pids $!"
	tries=0
	until [ "$(on1 sinfo -h -t idle -o %D 2>/dev/null)" = 2 ]; do
		tries=$((tries + 1))
		[ "$tries" -lt 600 ] || { cat "$t_dir/slurmctld" "$t_dir/slurmd1" \
			"$t_dir/slurmd2"; return 1; }
		sleep 0.2
	done
}

# job OPTION...: runs dat_perf with these options; its output is in $t_dir/job
job() {
	on1 sh -c 'cd /job && exec sbatch --wait --output=/job/out dat_perf.sbatch "$@"' sh "$@"
	status=$?
	cp "$t_dir/cluster.root/job/out" "$t_dir/job" && cat "$t_dir/job"
	return "$status"
}

measured() {
	job -i ofi-tcp -S 8,64k -t 0.1 && grep -q '^ *65536' "$t_dir/job"
}

# A job that cannot work ends with a message.
refused() {
	! job -i ofi-nonsense -t 0.1 && grep -q ofi-nonsense "$t_dir/job"
}

t_run 'a fresh system with Slurm and dat-ofi' cluster
t_run 'two hosts' r_hosts
[ $t_failures = 0 ] || t_done
t_run 'Slurm runs on both' daemons
[ $t_failures = 0 ] || t_done
t_run 'dat_perf measures between the nodes of a job' measured
t_run 'a job that cannot work fails with the reason' refused
t_done
