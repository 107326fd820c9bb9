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

// A moment as the URL names it: the number of an event, or a time.
export interface Moment {
  time: string;
  seq: number; // of the last event until then
  event?: TimelineEvent;
}

export function momentOf(at: string, events: TimelineEvent[]): Moment | undefined {
  if (at === '') return undefined;
  if (/^\d+$/.test(at)) {
    const event = events.find((one) => one.seq === Number(at));
    return event && { time: event.time, seq: event.seq, event };
  }
  const when = Date.parse(at);
  if (Number.isNaN(when)) return undefined;
  return { time: new Date(when).toISOString(), seq: Math.max(0, ...events.filter((event) => Date.parse(event.time) <= when).map((event) => event.seq)) };
}

export interface Stop {
  at: string; // as the URL names it
  time: string;
  event?: TimelineEvent;
}

// What the slider stops at, oldest first: every event; and, where counters are read, every minute of the last hour and
// every quarter of an hour of the last day, as the service keeps them unless it is configured otherwise.
export function stopsOf(events: TimelineEvent[], now: number, read: boolean): Stop[] {
  const stops: Stop[] = events.map((event) => ({ at: String(event.seq), time: event.time, event }));
  const add = (when: number) => {
    const time = new Date(when).toISOString();
    stops.push({ at: time, time });
  };
  if (read) {
    for (let quarter = 95; quarter >= 4; --quarter) add(now - quarter * 15 * 60_000);
    for (let minute = 59; minute >= 1; --minute) add(now - minute * 60_000);
  }
  return stops.map((stop) => ({ stop, when: Date.parse(stop.time) })).sort((a, b) => a.when - b.when || (a.stop.event?.seq ?? 0) - (b.stop.event?.seq ?? 0)).map(({ stop }) => stop);
}

// The map as it was: bundles of one link are as the link was; others keep what they show, less what is known to differ.
export function mapAt<Map_ extends { bundles: { link: string | null; down: number; degraded: number; held: number; unknown: number }[] }>(map: Map_, states: Map<string, PastState>): Map_ {
  return {
    ...map,
    bundles: map.bundles.map((bundle) => {
      const state = bundle.link === null ? undefined : states.get(bundle.link);
      return state === undefined ? bundle : { ...bundle, down: state === 'down' ? 1 : 0, degraded: state === 'degraded' ? 1 : 0, held: 0, unknown: 0 };
    }),
  };
}

// The jobs that held GPUs then: by their last start, as the service keeps it. It forgets the oldest of 2,000 ended ones.
export function jobsAt<Job extends { startedAt: string | null; endedAt: string | null; gpus: number }>(jobs: Job[], at: number): { jobs: Job[]; gpus: number } {
  const held = jobs.filter((job) => job.startedAt !== null && Date.parse(job.startedAt) <= at && (job.endedAt === null || Date.parse(job.endedAt) > at));
  return { jobs: held, gpus: held.reduce((sum, job) => sum + job.gpus, 0) };
}
