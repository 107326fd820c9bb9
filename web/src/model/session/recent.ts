// The newest events: a page that was read once, and what came by the stream since.
interface Numbered {
  seq: number;
}

// Newest first, each once.
export function newestFirst<T extends Numbered>(read: readonly T[], live: readonly T[]): T[] {
  const bySeq = new Map<number, T>();
  for (const event of read) bySeq.set(event.seq, event);
  for (const event of live) bySeq.set(event.seq, event);
  return [...bySeq.values()].sort((a, b) => b.seq - a.seq);
}

// Whether events between the page and the stream may be missing: the stream keeps at most `kept` of them. `live` is newest first.
export function hasHole(readTo: number, live: readonly Numbered[], kept: number): boolean {
  const oldest = live.at(-1);
  return oldest !== undefined && live.length >= kept && oldest.seq > readTo + 1;
}
