#!/bin/sh
# slurm.conf: PrologSlurmctld=/etc/slurm/prolog.sh. Slurm runs it beside slurmctld, before the first rank of each job starts. It waits
# until Railweave holds the job's GPUs and its class, partition and keys are on the ports, at most for RAILWEAVE_PROLOG_WAIT seconds,
# and never fails a job. Where RAILWEAVE_URL, RAILWEAVE_TOKEN and others are set:
settings=/etc/railweave/slurm.env
trap 'exit 0' EXIT # also where the settings make no sense
PATH=/usr/local/bin:/usr/bin:/bin
export PATH
[ ! -r "$settings" ] || . "$settings"
wait=${RAILWEAVE_PROLOG_WAIT:-30}
timeout -k 2 $((${wait%.*} + 5)) railweave-slurm prolog --wait "$wait"
exit 0
