#!/bin/sh
# slurm.conf: Epilog=/etc/slurm/epilog.sh. slurmd runs it on each node when no process of a job is left there. It tells Railweave that
# the node is free of the job; without it railweave-slurm says so for all nodes, when slurmctld has them back.
settings=/etc/railweave/slurm.env
trap 'exit 0' EXIT # a script that fails drains the node
PATH=/usr/local/bin:/usr/bin:/bin
export PATH
[ ! -r "$settings" ] || . "$settings"
[ -z "$SLURM_JOB_GPUS" ] || timeout -k 2 20 railweave-slurm epilog
exit 0
