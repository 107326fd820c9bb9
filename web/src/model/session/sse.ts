// Server-sent events, read from a stream by hand: EventSource hides the heartbeats, by which a dead connection is told
// from a quiet one, and cannot send an Authorization header.

export interface ServerEvent {
  id: string;
  type: string;
  data: string;
}

// Feed text as it comes; each whole event is handed to `onEvent`, each comment to `onComment`.
export class EventParser {
  private rest = '';
  private id = '';
  private type = '';
  private data: string[] = [];

  constructor(
    private readonly onEvent: (event: ServerEvent) => void,
    private readonly onComment: (text: string) => void = () => {},
  ) {}

  feed(text: string) {
    this.rest += text;
    for (;;) {
      const end = this.rest.search(/\r\n|\n|\r(?!$)/);
      if (end < 0) return;
      const line = this.rest.slice(0, end);
      this.rest = this.rest.slice(end + (this.rest.startsWith('\r\n', end) ? 2 : 1));
      this.line(line);
    }
  }

  private line(line: string) {
    if (line === '') {
      if (this.data.length > 0) this.onEvent({ id: this.id, type: this.type || 'message', data: this.data.join('\n') });
      this.type = '';
      this.data = [];
      return;
    }
    if (line.startsWith(':')) {
      this.onComment(line.slice(1).trim());
      return;
    }
    const colon = line.indexOf(':');
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (name === 'id') this.id = value;
    else if (name === 'event') this.type = value;
    else if (name === 'data') this.data.push(value);
  }
}

export const HEARTBEAT_MS = 15_000; // as the contract says
export const SILENCE_MS = 2.5 * HEARTBEAT_MS;

// Milliseconds to wait before attempt number `failures` + 1; doubled each time, to half a minute.
export function retryDelay(failures: number): number {
  return Math.min(30_000, 500 * 2 ** Math.min(failures, 10));
}

// Milliseconds from an event to the refetch of what it made stale, by how long ago the last one was. One event is seen at
// once, a burst of them costs the service one refetch a second for each page.
export function refetchDelay(sinceLastMs: number): number {
  return Math.max(100, 900 - sinceLastMs);
}
