// The neighbours with which a waiting job may exchange its place: of its tenant and priority.
interface Waiting {
  id: string;
  tenant: string;
  priority: string;
  place: number;
}

export function beside(all: Waiting[], job: Waiting): { above: string | undefined; below: string | undefined } {
  const peers = all.filter((one) => one.tenant === job.tenant && one.priority === job.priority).sort((a, b) => a.place - b.place);
  const at = peers.findIndex((one) => one.id === job.id);
  return { above: peers[at - 1]?.id, below: at < 0 ? undefined : peers[at + 1]?.id };
}

// Why jobs wait, in an operator's words, each with how many jobs and GPUs: the most GPUs first.
const WHY: Record<string, string> = {
  noCapacity: 'fragments: no rack or NVLink domain has as many free together; ending or moving a job beside them helps',
  neverFits: 'never fit: what these jobs ask for is not in this fabric, or not within their limits',
  wouldDelay: 'held for the head of the queue: a job started now would delay the one before it',
  behind: 'held for the head of the queue: jobs before them come first',
  quotaOfTenant: 'blocked by the quota of their tenant',
  quotaOfCohort: 'blocked by the quota of their cohort',
  bandwidth: 'blocked by bandwidth: the links between free GPUs are promised to others',
  window: 'kept for a reservation or a window of maintenance',
  notBefore: 'not due yet: their own start time',
  held: 'held by a person',
  betterPlace: 'could start, but slower than elsewhere: they wait for a better place for a short time',
  noKnownTime: 'kept, as no running job says when it ends',
};

export function waitReasons(jobs: { gpus: number; waits: { code: string } | null }[]): { code: string; jobs: number; gpus: number; text: string }[] {
  const reasons = new Map<string, { code: string; jobs: number; gpus: number; text: string }>();
  for (const job of jobs) {
    const code = job.waits?.code ?? 'asked';
    const known = reasons.get(code) ?? { code, jobs: 0, gpus: 0, text: WHY[code] ?? 'not considered yet' };
    reasons.set(code, { ...known, jobs: known.jobs + 1, gpus: known.gpus + job.gpus });
  }
  return [...reasons.values()].sort((a, b) => b.gpus - a.gpus || a.code.localeCompare(b.code));
}
