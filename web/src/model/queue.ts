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
