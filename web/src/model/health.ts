// What needs a person now, from what the service says: most urgent first.
import type { Schema } from '../api/client';

export interface Need {
  tone: 'bad' | 'warn' | 'drain';
  text: string;
  detail: string;
  subject?: { kind: string; id: string };
}

export interface Facts {
  alarms: Schema['Alarm'][];
  subnets: Schema['Subnet'][];
  guarantees: Schema['Guarantee'][];
  drains: Schema['Drain'][];
  waiting: Schema['WaitingJob'][];
}

const QUIET_PHASES = new Set(['synced', 'watching', 'programming', 'discovering']);

export function needs({ alarms, subnets, guarantees, drains, waiting }: Facts): Need[] {
  const found: Need[] = [];
  for (const alarm of alarms) {
    if (alarm.acknowledged) continue; // someone looks after it
    found.push({ tone: alarm.severity === 'critical' ? 'bad' : 'warn', text: alarm.text, detail: alarm.kind, subject: alarm.subject });
  }
  const alarmed = new Set(alarms.map((alarm) => `${alarm.subject.kind}/${alarm.subject.id}`));
  for (const subnet of subnets) {
    if (!subnet.live || alarmed.has(`subnet/${subnet.id}`)) continue;
    const phase: string = subnet.live.phase;
    if (!QUIET_PHASES.has(phase)) {
      found.push({ tone: phase === 'offline' || phase === 'blind' ? 'bad' : 'warn', text: `subnet ${subnet.id} is ${phase}${subnet.live.problem ? `: ${subnet.live.problem}` : ''}`, detail: 'subnet', subject: { kind: 'subnet', id: subnet.id } });
    }
    if (subnet.live.differenceCount > 0) {
      found.push({ tone: 'warn', text: `subnet ${subnet.id}: ${subnet.live.differenceCount} difference${subnet.live.differenceCount === 1 ? '' : 's'} from the accepted cabling`, detail: 'cabling', subject: { kind: 'subnet', id: subnet.id } });
    }
  }
  for (const guarantee of guarantees) {
    if (guarantee.state !== 'holds' && !alarmed.has(`job/${guarantee.job}`)) {
      found.push({ tone: 'bad', text: `guarantee of ${guarantee.job} (${guarantee.tenant}) is at risk: ${guarantee.reason}`, detail: 'guarantee', subject: { kind: 'job', id: guarantee.job } });
    }
  }
  for (const drain of drains) {
    if (drain.state === 'drained') {
      found.push({ tone: 'drain', text: `${drain.kind} ${drain.id} is safe to unplug${drain.reason ? `: ${drain.reason}` : ''}`, detail: 'drain', subject: { kind: drain.kind, id: drain.id } });
    } else if (drain.waitsFor) {
      found.push({ tone: 'warn', text: `drain of ${drain.kind} ${drain.id} waits: ${drain.waitsFor}`, detail: 'drain', subject: { kind: drain.kind, id: drain.id } });
    }
  }
  for (const job of waiting) {
    if (job.waits?.starving) {
      found.push({ tone: 'warn', text: `${job.id} has waited beyond the bound: ${job.waits.reason}`, detail: 'queue', subject: { kind: 'job', id: job.id } });
    } else if (job.waits?.code === 'neverFits') {
      found.push({ tone: 'warn', text: `${job.id} can never start: ${job.waits.reason}`, detail: 'queue', subject: { kind: 'job', id: job.id } });
    }
  }
  const order = { bad: 0, warn: 1, drain: 2 };
  return found.sort((a, b) => order[a.tone] - order[b.tone]);
}

// Free GPUs that no waiting job can use; where no job waits, none is asked for and none is stranded.
export function strandedGpus(stranded: { strandedGpus: number; jobsAskedAbout: number } | undefined): number {
  return stranded && stranded.jobsAskedAbout > 0 ? stranded.strandedGpus : 0;
}

// Events of the last hour by what they say, most frequent first.
export function byType(events: { type: string; time: string }[], since: number): [string, number][] {
  const counts = new Map<string, number>();
  for (const event of events) {
    if (Date.parse(event.time) >= since) counts.set(event.type, (counts.get(event.type) ?? 0) + 1);
  }
  return [...counts].sort((a, b) => b[1] - a[1] || a[0].localeCompare(b[0]));
}
