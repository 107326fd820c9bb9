#!/bin/sh
# slurm.conf: PrologSlurmctld=/etc/slurm/prolog.sh. Slurm runs it beside slurmctld, before the first rank of each job starts. It waits
# until Railweave holds the job's GPUs and its class, partition and keys are on the ports, at most for RAILWEAVE_PROLOG_WAIT seconds,
# and never fails a job. Where RAILWEAVE_URL, RAILWEAVE_TOKEN and others are set:
settings=/etc/railweave/slurm.env
PATH=/usr/local/bin:/usr/bin:/bin
export PATH
[ -r "$settings" ] && . "$settings"
railweave-slurm prolog --wait "${RAILWEAVE_PROLOG_WAIT:-30}"
exit 0
