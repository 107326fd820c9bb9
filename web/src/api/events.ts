// The live connection: one event stream for the whole console. Events invalidate what they change; the store says whether
// the page is live, and since when it is not.
import type { QueryClient } from '@tanstack/react-query';
import { useSyncExternalStore } from 'react';
import { EventParser, refetchDelay, retryDelay, SILENCE_MS } from '../model/session/sse';
import { noteRefusal, requestHeaders, signIn, type Schema } from './client';

export type FabricEvent = Schema['Event'];
export type LiveState = 'connecting' | 'live' | 'lost';

export interface Live {
  state: LiveState;
  seq: number; // of the last event seen; 0: none yet
  since: number; // when it came into this state, ms
  detail: string; // why it is lost
  events: FabricEvent[]; // the newest, last first
}

export const KEPT = 500;

// Which queries an event makes stale, by the noun before the dot. Unknown nouns invalidate everything: a newer service
// may send kinds that this console does not know.
const STALE: Record<string, string[]> = {
  job: ['jobs', 'queue', 'nodes', 'fabric', 'map', 'tenants', 'guarantees', 'nvlink-domains'],
  tenant: ['tenants', 'queue'],
  queue: ['queue', 'jobs'],
  reservation: ['reservations', 'queue'],
  contract: ['contracts', 'guarantees', 'tenants'],
  guarantee: ['guarantees', 'jobs'],
  qosClasses: ['qos-classes', 'guarantees'],
  qos: ['subnets'],
  link: ['links', 'map', 'routes', 'guarantees', 'subnets', 'switches'],
  route: ['routes', 'subnets', 'guarantees'],
  drain: ['drains', 'links', 'switches', 'nodes', 'map', 'routes'],
  alarm: ['alarms', 'links'],
  subnet: ['subnets'],
};

// Of many jobs they come often, and make nothing else stale.
const STEPS = new Set(['job.stepsReported', 'job.slow', 'job.onPace']);

export function staleKeys(type: string): string[] | undefined {
  if (STEPS.has(type)) return ['steps'];
  return STALE[type.split('.')[0] ?? ''];
}

class LiveConnection {
  private live: Live = { state: 'connecting', seq: 0, since: Date.now(), detail: '', events: [] };
  private readonly listeners = new Set<() => void>();
  private readonly pending = new Set<string>();
  private flush: ReturnType<typeof setTimeout> | undefined;
  private flushed = 0;
  private failures = 0;
  private stopped = true;
  private abort = new AbortController();
  private queries: QueryClient | undefined;

  subscribe = (listener: () => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };
  snapshot = () => this.live;

  start(queries: QueryClient) {
    if (!this.stopped) return;
    this.stopped = false;
    this.queries = queries;
    let headers = JSON.stringify(requestHeaders());
    signIn.subscribe(() => {
      const now = JSON.stringify(requestHeaders());
      if (now === headers) return;
      headers = now;
      this.set({ seq: 0, events: [] }); // another caller does not see what the one before saw
      this.reconnect();
    });
    void this.run();
  }

  // Connect again at once: the user asked, or the browser says that it is online.
  reconnect = () => {
    this.failures = 0;
    this.abort.abort(new Error('reconnecting'));
  };

  private set(change: Partial<Live>) {
    this.live = { ...this.live, ...change };
    for (const listener of this.listeners) listener();
  }
  private become(state: LiveState, detail = '') {
    if (this.live.state === state && this.live.detail === detail) return;
    this.set({ state, detail, since: this.live.state === state ? this.live.since : Date.now() });
  }

  private async run() {
    while (!this.stopped) {
      const started = this.live.seq;
      this.abort = new AbortController();
      let reason = 'the service closed the connection';
      try {
        await this.read(this.abort);
      } catch (error) {
        reason = error instanceof Error ? error.message : String(error);
      }
      this.failures = this.live.seq > started ? 0 : this.failures + 1;
      this.become('lost', reason);
      const wait = new AbortController();
      this.abort = wait; // reconnect() ends the pause
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, retryDelay(this.failures));
        wait.signal.addEventListener('abort', () => {
          clearTimeout(timer);
          resolve();
        });
      });
    }
  }

  private async read(abort: AbortController) {
    let watchdog: ReturnType<typeof setTimeout> | undefined;
    const heard = () => {
      clearTimeout(watchdog);
      watchdog = setTimeout(() => abort.abort(new Error('the service is silent')), SILENCE_MS);
    };
    heard();
    try {
      const headers: Record<string, string> = { Accept: 'text/event-stream', ...requestHeaders() };
      if (this.live.seq > 0) headers['Last-Event-ID'] = String(this.live.seq);
      const response = await fetch('/v1/events/stream', { headers, signal: abort.signal, cache: 'no-store' });
      await noteRefusal(response, headers.Authorization);
      if (response.status === 410) {
        // Events since the last one were removed: everything is read again, and what follows from now on.
        this.set({ seq: 0, events: [] });
        void this.queries?.invalidateQueries();
      }
      if (!response.ok || !response.body) throw new Error(`the service answered ${response.status}`);
      const wasLost = this.live.state === 'lost';
      this.become('live');
      if (wasLost) void this.queries?.invalidateQueries(); // what has no events may have changed meanwhile
      const parser = new EventParser((event) => this.take(event.data));
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        heard();
        parser.feed(value);
      }
    } finally {
      clearTimeout(watchdog);
    }
  }

  private take(data: string) {
    const event = JSON.parse(data) as FabricEvent;
    this.set({ seq: event.seq, events: [event, ...this.live.events].slice(0, KEPT) });
    for (const key of staleKeys(event.type) ?? ['*']) this.pending.add(key);
    // A subnet that cannot be seen any more, or can be again: so can its links.
    const ofSubnet = event.subject.kind === 'subnet' || event.subject.id.startsWith('subnet.');
    if (event.type.startsWith('alarm.') && ofSubnet) for (const key of ['subnets', 'map', 'switches', 'links']) this.pending.add(key);
    this.flush ??= setTimeout(() => {
      this.flush = undefined;
      this.flushed = Date.now();
      const keys = [...this.pending];
      this.pending.clear();
      if (keys.includes('*')) void this.queries?.invalidateQueries();
      else
        void this.queries?.invalidateQueries({
          predicate: (query) => keys.includes(String(query.queryKey[0])),
        });
    }, refetchDelay(Date.now() - this.flushed));
  }
}

export const liveConnection = new LiveConnection();
export function useLive(): Live {
  return useSyncExternalStore(liveConnection.subscribe, liveConnection.snapshot);
}
