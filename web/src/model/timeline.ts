// An earlier moment: the states of links, from the events that changed them, and the jobs that ran, from their times.

export interface TimelineEvent {
  seq: number;
  time: string;
  type: string;
  summary: string;
  data: unknown;
}

export type PastState = 'up' | 'degraded' | 'down';

interface Change {
  seq: number;
  state: PastState;
}

function changesOf(event: TimelineEvent): { link: string; state: PastState }[] {
  const { links } = (event.data ?? {}) as { links?: { link: string; state: PastState }[] };
  return event.type.startsWith('link.') && Array.isArray(links) ? links : [];
}

// Of each link that any of the events names, its state after event `seq`; the others did not change meanwhile. Before the
// first event that names it, a link was up unless that event brought it up. `events` in any order.
export function statesAt(events: TimelineEvent[], seq: number): Map<string, PastState> {
  const history = new Map<string, Change[]>();
  for (const event of [...events].sort((a, b) => a.seq - b.seq)) {
    for (const { link, state } of changesOf(event)) {
      const changes = history.get(link) ?? [];
      changes.push({ seq: event.seq, state });
      history.set(link, changes);
    }
  }
  const states = new Map<string, PastState>();
  for (const [link, changes] of history) {
    const last = changes.findLast((change) => change.seq <= seq);
    states.set(link, last ? last.state : changes[0]!.state === 'up' ? 'down' : 'up');
  }
  return states;
}

// The map as it was: bundles of one link are as the link was; others keep what they show, less what is known to differ.
export function mapAt<Map_ extends { bundles: { link: string | null; down: number; degraded: number }[] }>(map: Map_, states: Map<string, PastState>): Map_ {
  return {
    ...map,
    bundles: map.bundles.map((bundle) => {
      const state = bundle.link === null ? undefined : states.get(bundle.link);
      return state === undefined ? bundle : { ...bundle, down: state === 'down' ? 1 : 0, degraded: state === 'degraded' ? 1 : 0 };
    }),
  };
}

// The jobs that held GPUs then: by their last start, as the service keeps it. It forgets the oldest of 2,000 ended ones.
export function jobsAt<Job extends { startedAt: string | null; endedAt: string | null; gpus: number }>(jobs: Job[], at: number): { jobs: Job[]; gpus: number } {
  const held = jobs.filter((job) => job.startedAt !== null && Date.parse(job.startedAt) <= at && (job.endedAt === null || Date.parse(job.endedAt) > at));
  return { jobs: held, gpus: held.reduce((sum, job) => sum + job.gpus, 0) };
}
