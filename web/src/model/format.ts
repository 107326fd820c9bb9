// Numbers, rates and times as operators read them. Pure; the time zone is an argument.

export type Zone = 'utc' | 'local';

const integer = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });
const oneDigit = new Intl.NumberFormat('en-US', { maximumFractionDigits: 1 });

export function count(value: number): string {
  return integer.format(value);
}

// 64800 -> "64.8 Tb/s"
export function rate(gbps: number): string {
  if (gbps === 0) return '0 Gb/s';
  if (gbps >= 1000) return `${oneDigit.format(gbps / 1000)} Tb/s`;
  if (gbps < 1) return `${oneDigit.format(gbps * 1000)} Mb/s`;
  return `${oneDigit.format(gbps)} Gb/s`;
}

export function percent(share: number, digits = 0): string {
  return `${(share * 100).toFixed(digits)}%`;
}

export function bytes(value: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB', 'PB', 'EB'];
  let unit = 0;
  let left = value;
  while (left >= 1000 && unit < units.length - 1) {
    left /= 1000;
    unit += 1;
  }
  return `${unit === 0 ? left : oneDigit.format(left)} ${units[unit]}`;
}

export function milliseconds(value: number | null | undefined): string {
  if (value === null || value === undefined) return '–';
  if (value < 1) return `${Math.round(value * 1000)} µs`;
  if (value < 10_000) return `${value < 100 ? oneDigit.format(value) : integer.format(value)} ms`;
  return duration(value);
}

export function microseconds(value: number): string {
  return milliseconds(value / 1000);
}

// 93780000 -> "1 d 2 h"; two units at most.
export function duration(ms: number): string {
  const total = Math.max(0, Math.round(ms / 1000));
  const parts: [number, string][] = [
    [Math.floor(total / 86400), 'd'],
    [Math.floor(total / 3600) % 24, 'h'],
    [Math.floor(total / 60) % 60, 'min'],
    [total % 60, 's'],
  ];
  const first = parts.findIndex(([n]) => n > 0);
  if (first < 0) return '0 s';
  return parts
    .slice(first, first + 2)
    .filter(([n]) => n > 0)
    .map(([n, unit]) => `${n} ${unit}`)
    .join(' ');
}

export function ago(time: string | number, now: number): string {
  const ms = now - (typeof time === 'number' ? time : Date.parse(time));
  if (ms < -1000) return `in ${duration(-ms)}`;
  return ms < 5000 ? 'now' : `${duration(ms < 60_000 ? ms : ms - (ms % 60_000))} ago`;
}

// "2026-11-22 18:17:55Z", or in the browser's zone.
export function time(text: string, zone: Zone): string {
  const date = new Date(text);
  if (Number.isNaN(date.getTime())) return text;
  if (zone === 'utc') return `${date.toISOString().slice(0, 19).replace('T', ' ')}Z`;
  const two = (n: number) => String(n).padStart(2, '0');
  return (
    `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ` +
    `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`
  );
}

// ISO 8601, "PT36H" -> milliseconds; undefined where it is none.
export function parseDuration(text: string): number | undefined {
  const match = /^P(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?$/.exec(text);
  if (!match || text === 'P' || text.endsWith('T')) return undefined;
  const [weeks, days, hours, minutes, seconds] = match.slice(1).map((n) => Number(n ?? 0)) as [number, number, number, number, number];
  return ((((weeks * 7 + days) * 24 + hours) * 60 + minutes) * 60 + seconds) * 1000;
}

// camelCase of the contract in words: "shortOfRail" -> "short of rail".
export function words(camel: string): string {
  return camel.replace(/^nvlink/, 'NVLink').replace(/[._]/g, ' ').replace(/([a-z0-9])([A-Z])/g, (_, a: string, b: string) => `${a} ${b.toLowerCase()}`);
}
