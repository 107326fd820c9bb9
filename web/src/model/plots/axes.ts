// Axes of a plot: where their ticks are and what they say. Pure; the time zone is an argument.
import type { Zone } from '../format';

// Round values from 0, or from below it, to the first at or above the highest: 1, 2 or 5 times a power of ten apart.
export function valueTicks(highest: number, most = 4, whole = false): number[] {
  if (!(highest > 0)) return [0, 1];
  const rough = highest / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  let step = [1, 2, 5, 10].map((n) => n * power).find((one) => one >= rough * 0.999) ?? rough;
  if (whole) step = Math.max(1, Math.round(step));
  const ticks: number[] = [];
  for (let i = 0; ticks.length === 0 || ticks.at(-1)! < highest * 0.9999; i += 1) ticks.push(Number((i * step).toPrecision(12)));
  return ticks;
}

const SECOND = 1;
const MINUTE = 60;
const HOUR = 3600;
const DAY = 86_400;
const STEPS = [SECOND, 5, 10, 30, MINUTE, 2 * MINUTE, 5 * MINUTE, 10 * MINUTE, 15 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 7 * DAY];

export interface TimeTick {
  at: number; // seconds since 1970
  text: string;
}

const two = (n: number) => String(n).padStart(2, '0');
function clock(at: number, step: number, zone: Zone): string {
  const date = new Date(at * 1000);
  const [month, day, hours, minutes, seconds] = zone === 'utc'
    ? [date.getUTCMonth(), date.getUTCDate(), date.getUTCHours(), date.getUTCMinutes(), date.getUTCSeconds()]
    : [date.getMonth(), date.getDate(), date.getHours(), date.getMinutes(), date.getSeconds()];
  if (step >= DAY) return `${two(month + 1)}-${two(day)}`;
  return `${two(hours)}:${two(minutes)}${step < MINUTE ? `:${two(seconds)}` : ''}`;
}

// Whole minutes, hours or days of the zone; at most `most` of them.
export function timeTicks(from: number, to: number, most: number, zone: Zone): TimeTick[] {
  const step = STEPS.find((one) => (to - from) / one <= most) ?? Math.ceil((to - from) / most / DAY) * DAY;
  const shift = zone === 'utc' ? 0 : new Date(from * 1000).getTimezoneOffset() * MINUTE;
  const ticks: TimeTick[] = [];
  for (let at = Math.ceil((from - shift) / step) * step + shift; at <= to; at += step) ticks.push({ at, text: clock(at, step, zone) });
  return ticks;
}

export const spanText = (seconds: number): string => (seconds >= 2 * DAY ? `${Math.round(seconds / DAY)} days` : seconds >= 2 * HOUR ? `${Math.round(seconds / HOUR)} hours` : seconds >= 2 * MINUTE ? `${Math.round(seconds / MINUTE)} minutes` : `${Math.round(seconds)} seconds`);
