import { describe, expect, it } from 'vitest';
import { EventParser, refetchDelay, retryDelay, type ServerEvent } from './sse';

function parsed(chunks: string[]) {
  const events: ServerEvent[] = [];
  const comments: string[] = [];
  const parser = new EventParser((event) => events.push(event), (text) => comments.push(text));
  for (const chunk of chunks) parser.feed(chunk);
  return { events, comments };
}

const STREAM = ': hello\n\nid: 7\nevent: job.placed\ndata: {"seq":7}\n\nid: 8\ndata: a\ndata:  b\n\n: closed: behind\n\n';

describe('the event stream', () => {
  it('is read whole', () => {
    const { events, comments } = parsed([STREAM]);
    expect(events).toEqual([
      { id: '7', type: 'job.placed', data: '{"seq":7}' },
      { id: '8', type: 'message', data: 'a\n b' },
    ]);
    expect(comments).toEqual(['hello', 'closed: behind']);
  });
  it('is the same however it is cut', () => {
    const whole = parsed([STREAM]);
    for (let at = 0; at <= STREAM.length; at += 1) expect(parsed([STREAM.slice(0, at), STREAM.slice(at)])).toEqual(whole);
    expect(parsed([...STREAM])).toEqual(whole);
  });
  it('is the same with any line ends', () => {
    const crlf = STREAM.replaceAll('\n', '\r\n');
    for (let at = 0; at <= crlf.length; at += 1) expect(parsed([crlf.slice(0, at), crlf.slice(at)])).toEqual(parsed([STREAM]));
  });
  it('does not hand out what is not complete', () => {
    expect(parsed(['id: 9\ndata: x\n']).events).toEqual([]);
  });
  it('is tried again later and later, to a bound', () => {
    const delays = Array.from({ length: 20 }, (_, failures) => retryDelay(failures));
    expect(delays[0]).toBe(500);
    for (let i = 1; i < delays.length; i += 1) expect(delays[i]).toBeGreaterThanOrEqual(delays[i - 1]!);
    expect(Math.max(...delays)).toBe(30_000);
  });
});

describe('refetches', () => {
  it('follow one event at once, and a burst once a second, with none later than that', () => {
    expect(refetchDelay(10_000)).toBeLessThanOrEqual(150);
    // A minute of 60 events a second.
    let refetches = 0;
    let last = -Infinity;
    let due: number | undefined;
    let oldest = 0; // event that waits
    for (let now = 0; now < 60_000; now += 1000 / 60) {
      if (due !== undefined && due <= now) {
        expect(due - oldest).toBeLessThan(1000);
        refetches += 1;
        last = due;
        due = undefined;
      }
      if (due === undefined) {
        oldest = now;
        due = now + refetchDelay(now - last);
      }
    }
    expect(refetches).toBeGreaterThan(55);
    expect(refetches).toBeLessThan(70);
  });
});
