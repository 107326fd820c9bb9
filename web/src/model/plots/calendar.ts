// The time that a calendar shows, and where its marks are.
export interface Span {
  from: number;
  to: number;
}

const HOUR = 3_600_000;

// All of the blocks and now, with a margin; at least a day.
export function spanOf(blocks: [number, number][], now: number): Span {
  const from = Math.min(now, ...blocks.map(([start]) => start));
  const to = Math.max(now, ...blocks.map(([, end]) => end));
  const margin = Math.max(HOUR, (to - from) * 0.05, (24 * HOUR - (to - from)) / 2);
  return { from: from - margin, to: to + margin };
}

const STEPS = [1, 2, 3, 6, 12, 24, 48, 168, 336, 720, 2160, 8760].map((hours) => hours * HOUR);

export function ticks(span: Span, most: number): number[] {
  const step = STEPS.find((candidate) => (span.to - span.from) / candidate <= most) ?? STEPS.at(-1)!;
  const marks: number[] = [];
  for (let at = Math.ceil(span.from / step) * step; at <= span.to; at += step) marks.push(at);
  return marks;
}
