import { describe, expect, it } from 'vitest';
import { hasHole, newestFirst } from './recent';

const events = (...seqs: number[]) => seqs.map((seq) => ({ seq }));

describe('recent events', () => {
  it('are newest first, each once', () => {
    expect(newestFirst(events(1, 2, 3), events(5, 4, 3)).map((event) => event.seq)).toEqual([5, 4, 3, 2, 1]);
    expect(newestFirst([], [])).toEqual([]);
  });
  it('have no hole, whatever was dropped from the stream, or it is seen', () => {
    // Forward: a page is read at some moment, then events come and only the newest are kept.
    let holes = 0;
    for (let readTo = 0; readTo < 30; readTo += 1) {
      for (let last = readTo; last < 40; last += 1) {
        const kept = 8;
        const live = events(...Array.from({ length: last }, (_, i) => last - i).slice(0, kept));
        const read = events(...Array.from({ length: readTo }, (_, i) => i + 1));
        const whole = newestFirst(read, live).length === last;
        if (!whole) holes += 1;
        expect(hasHole(readTo, live, kept), `${readTo} ${last}`).toBe(!whole);
      }
    }
    expect(holes).toBeGreaterThan(100);
  });
});
