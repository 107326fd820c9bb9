// What the service keeps of counters, as lines to draw.
import type { Schema } from '../../api/client';
import { count } from '../format';

export type CounterHistory = Schema['CounterHistory'];
export type PortHistory = CounterHistory['ports'][number];

export interface Line {
  times: number[]; // seconds since 1970, the middle of each slot
  values: (number | null)[];
}

export function timesOf(history: CounterHistory): number[] {
  if (history.from === null || history.slotSeconds === null) return [];
  const width = history.slotSeconds;
  const first = Date.parse(history.from) / 1000 + width / 2;
  return Array.from({ length: history.slots }, (_, i) => first + i * width);
}

// A share of the rate, scaled: with the link's rate it is Gb/s.
export const lineOf = (history: CounterHistory, values: (number | null)[] | undefined, scale = 1): Line => ({
  times: timesOf(history),
  values: timesOf(history).map((_, i) => (values?.[i] === null || values?.[i] === undefined ? null : values[i]! * scale)),
});

// Errors of all kinds in each slot; null where nothing was read.
export function errorsOf(port: PortHistory): (number | null)[] {
  return port.load.map((load, i) => (load === null ? null : port.errors.reduce((sum, kind) => sum + (kind.counts[i] ?? 0), 0)));
}

// All ports of a switch in one, slot by slot.
export function sumOfPorts(history: CounterHistory): { fullest: Line; mean: Line; errors: Line } {
  const counted = history.ports.map(errorsOf);
  const of = (pick: (values: number[]) => number, values: (i: number) => (number | null | undefined)[]) =>
    lineOf(history, Array.from({ length: history.slots }, (_, i) => { const there = values(i).filter((one) => one !== null && one !== undefined); return there.length === 0 ? null : pick(there); }));
  const loads = (i: number) => history.ports.map((port) => port.load[i]);
  return { fullest: of((all) => Math.max(...all), loads), mean: of((all) => all.reduce((sum, one) => sum + one, 0) / all.length, loads), errors: of((all) => all.reduce((sum, one) => sum + one, 0), (i) => counted.map((port) => port[i])) };
}

export interface PortSummary {
  average: number | null;
  peak: number | null;
  waiting: number | null;
  errors: number;
  kinds: [string, number][];
}

const known = (values: (number | null)[]) => values.filter((value) => value !== null);
const mean = (values: number[]) => (values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length);

export function summaryOf(port: PortHistory): PortSummary {
  const kinds = port.errors.map(({ kind, counts }): [string, number] => [kind, known(counts).reduce((sum, value) => sum + value, 0)]);
  const peaks = known(port.peak);
  return { average: mean(known(port.load)), peak: peaks.length === 0 ? null : Math.max(...peaks), waiting: mean(known(port.waiting)), errors: kinds.reduce((sum, [, value]) => sum + value, 0), kinds };
}

// Points of a polyline in a box; a slot that was not read is a gap.
export function polylines(values: (number | null)[], width: number, height: number, most: number): string[] {
  const lines: string[] = [];
  let line: string[] = [];
  values.forEach((value, i) => {
    if (value !== null) {
      const x = values.length < 2 ? 0 : (i * width) / (values.length - 1);
      line.push(`${x.toFixed(1)},${(height - (Math.min(value, most) / (most || 1)) * height).toFixed(1)}`);
    }
    if ((value === null || i === values.length - 1) && line.length > 0) {
      lines.push(line.join(' '));
      line = [];
    }
  });
  return lines;
}

// Errors of the past are kept within 3% above 32.
export const about = (errors: number): string => (errors > 32 ? `about ${count(errors)}` : count(errors));

// How long the history goes back: "an hour in 60 slots of 1 min".
export function reachText(history: CounterHistory): string {
  if (history.slotSeconds === null) return 'nothing yet';
  const text = (seconds: number) => (seconds >= 5400 ? `${Math.round(seconds / 360) / 10} h` : seconds >= 90 ? `${Math.round(seconds / 6) / 10} min` : `${Math.round(seconds * 10) / 10} s`);
  return `${text(history.slots * history.slotSeconds)} in slots of ${text(history.slotSeconds)}`;
}

// Jobs that wait, the GPUs that they want, and GPUs that are held, at some moments: from the times of the jobs that the
// service still knows, by their last start.
export function workOver(jobs: { submittedAt: string; startedAt: string | null; endedAt: string | null; gpus: number }[], from: number, to: number, moments: number): { waiting: Line; wanted: Line; gpus: Line } {
  const times = Array.from({ length: moments }, (_, i) => from + ((to - from) * i) / Math.max(1, moments - 1));
  const line = (): (number | null)[] => times.map(() => 0);
  const [waiting, wanted, gpus] = [line(), line(), line()];
  const first = (seconds: number) => Math.max(0, Math.ceil(((seconds - from) / Math.max(to - from, 1)) * Math.max(1, moments - 1) - 1e-9));
  const add = (into: (number | null)[], begin: number, end: number, value: number) => {
    for (let i = first(begin); i < Math.min(first(end), moments); i += 1) into[i] = into[i]! + value;
  };
  for (const job of jobs) {
    const ended = job.endedAt === null ? to + 1e9 : Date.parse(job.endedAt) / 1000;
    const started = job.startedAt === null ? ended : Date.parse(job.startedAt) / 1000;
    const submitted = Date.parse(job.submittedAt) / 1000;
    add(waiting, submitted, started, 1);
    add(wanted, submitted, started, job.gpus);
    if (job.startedAt !== null) add(gpus, started, ended, job.gpus);
  }
  return { waiting: { times, values: waiting }, wanted: { times, values: wanted }, gpus: { times, values: gpus } };
}
