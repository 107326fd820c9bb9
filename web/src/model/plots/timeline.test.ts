import { describe, expect, it } from 'vitest';
import { jobsAt, mapAt, momentOf, statesAt, stopsOf, type PastState, type TimelineEvent } from './timeline';

const event = (seq: number, ...links: [string, PastState][]): TimelineEvent => ({ seq, time: '', type: links[0]?.[1] === 'down' ? 'link.down' : 'link.up', summary: '', data: { links: links.map(([link, state]) => ({ link, state })) } });

describe('the past', () => {
  it('is what played forward gives, on random events', () => {
    let seed = 7;
    const below = (n: number) => (seed = (seed * 1103515245 + 12345) & 0x7fffffff) % n;
    for (let round = 0; round < 50; round += 1) {
      // Forward: states before any event are up; each event changes links to another state than they have.
      const now = new Map<string, PastState>(['a', 'b', 'c', 'd'].map((link) => [link, 'up']));
      const events: TimelineEvent[] = [];
      const truth = new Map<number, Map<string, PastState>>();
      truth.set(0, new Map(now));
      for (let seq = 1; seq <= 12; seq += 1) {
        const link = ['a', 'b', 'c', 'd'][below(4)]!;
        const others = (['up', 'degraded', 'down'] as const).filter((state) => state !== now.get(link));
        now.set(link, others[below(2)]!);
        events.push(event(seq, [link, now.get(link)!]));
        truth.set(seq, new Map(now));
      }
      for (const [seq, states] of truth) {
        for (const [link, state] of statesAt([...events].reverse(), seq)) expect(state, `${round} ${seq} ${link}`).toBe(states.get(link));
      }
    }
  });
  it('takes a link that came up first for one that was down', () => {
    expect(statesAt([event(5, ['a', 'up'])], 4).get('a')).toBe('down');
  });
  it('changes the bundles of single links alone', () => {
    const none = { degraded: 0, held: 0, unknown: 0 };
    const map = { bundles: [{ ...none, link: 'a', down: 0 }, { ...none, link: null, down: 3 }, { ...none, link: 'b', down: 1 }] };
    expect(mapAt(map, new Map([['a', 'down']])).bundles.map((bundle) => bundle.down)).toEqual([1, 3, 1]);
  });
});

describe('the jobs at an earlier moment', () => {
  const job = (startedAt: string | null, endedAt: string | null, gpus: number) => ({ startedAt, endedAt, gpus });
  it('are those that had started and not ended', () => {
    const jobs = [job('2026-11-22T10:00:00Z', '2026-11-22T12:00:00Z', 8), job('2026-11-22T11:00:00Z', null, 16), job(null, null, 32), job('2026-11-22T12:00:00Z', null, 64)];
    const gpus = (time: string) => jobsAt(jobs, Date.parse(time)).gpus;
    expect(['2026-11-22T09:59:59Z', '2026-11-22T10:00:00Z', '2026-11-22T11:30:00Z', '2026-11-22T12:00:00Z'].map(gpus)).toEqual([0, 8, 24, 80]);
  });
});

describe('moments of the slider', () => {
  const at = (seq: number, minute: number) => ({ seq, time: new Date(Date.UTC(2026, 10, 21, 9, minute)).toISOString(), type: 'link.down', summary: '', data: {} });
  const events = [at(7, 10), at(9, 20)];
  const now = Date.UTC(2026, 10, 21, 10, 0);

  it('are events by number, and times between them', () => {
    expect(momentOf('', events)).toBeUndefined();
    expect(momentOf('9', events)).toMatchObject({ seq: 9, event: events[1] });
    expect(momentOf('8', events)).toBeUndefined();
    expect(momentOf('2026-11-21T09:15:00Z', events)).toEqual({ time: '2026-11-21T09:15:00.000Z', seq: 7 });
    expect(momentOf('2026-11-21T09:00:00Z', events)).toMatchObject({ seq: 0 });
    expect(momentOf('soon', events)).toBeUndefined();
  });

  it('has stops for a day where counters are read, and for events alone where none are', () => {
    expect(stopsOf(events, now, false).map((stop) => stop.at)).toEqual(['7', '9']);
    const stops = stopsOf(events, now, true);
    expect(stops.length).toBe(2 + 92 + 59);
    expect(stops.map((stop) => Date.parse(stop.time))).toEqual([...stops.map((stop) => Date.parse(stop.time))].sort((a, b) => a - b));
    expect(now - Date.parse(stops[0]!.time)).toBe(95 * 15 * 60_000);
    expect(Date.parse(stops.at(-1)!.time)).toBe(now - 60_000);
  });
});
