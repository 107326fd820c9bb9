// How states are coloured. Newer services may send states that are not listed: they are shown as they are, without colour.
export type Tone = 'ok' | 'warn' | 'bad' | 'drain' | 'info' | 'none';

const TONES: Record<string, Tone> = {
  // subnets
  synced: 'ok', watching: 'info', programming: 'info', discovering: 'info', partial: 'warn', unaccepted: 'warn', blind: 'bad', offline: 'bad',
  // links
  up: 'ok', degraded: 'warn', down: 'bad', unknown: 'none',
  // jobs
  placed: 'ok', queued: 'info', completed: 'none', cancelled: 'none', lost: 'bad', notNow: 'warn', never: 'bad',
  offered: 'warn', accepted: 'info', releasing: 'warn', held: 'warn',
  // drains
  requested: 'warn', rerouting: 'info', drained: 'drain',
  // alarms and events
  critical: 'bad', error: 'bad', warning: 'warn', info: 'none',
  // guarantees
  holds: 'ok', atRisk: 'bad', hardware: 'ok', host: 'info', cooperative: 'info', planned: 'warn',
  // operations
  succeeded: 'ok', running: 'info', failed: 'bad',
};

export function tone(state: string): Tone {
  return TONES[state] ?? 'none';
}
