// What needs a person now, from what the service says: most urgent first.
import type { Schema } from '../api/client';

export interface Need {
  tone: 'bad' | 'warn' | 'drain';
  text: string;
  detail: string;
  subject?: { kind: string; id: string; name?: string };
  alarm?: Schema['Alarm'];
}

export interface Facts {
  alarms: Schema['Alarm'][];
  subnets: Schema['Subnet'][];
  guarantees: Schema['Guarantee'][];
  drains: Schema['Drain'][];
  waiting: Schema['WaitingJob'][];
}

const QUIET_PHASES = new Set(['synced', 'watching', 'programming', 'discovering']);

// What cannot be said to be well, as no one looks at it: subnets that are blind or not connected at all.
export function unwatched(subnets: Schema['Subnet'][]): string | null {
  const unseen = subnets.filter((subnet) => subnet.live?.unseen).map((subnet) => subnet.id);
  if (unseen.length > 0) return `${unseen.join(', ')} cannot be seen now`;
  return subnets.every((subnet) => !subnet.live) ? 'no subnet is connected, so cables are not watched' : null;
}

// Texts name what can be typed at a terminal or sent to the API; here there is a button for it.
export function inWords(text: string): string {
  return text
    .replace(/\bPOST \/v1\/jobs\/[^\s/]+\/repair moves their ranks/g, 'a repair moves their ranks')
    .replace(/\bPOST \/v1\/jobs\/([^\s/]+)\/([a-z]+)/g, '“$2” at job $1')
    .replace(/\bGET \/v1\/(alarms|drains|events|jobs|nodes|switches|tenants)\b/g, 'the view of $1');
}

export function needs({ alarms, subnets, guarantees, drains, waiting }: Facts): Need[] {
  const found: Need[] = [];
  for (const alarm of alarms) {
    if (alarm.acknowledged || alarm.muted) continue; // someone looks after it, or will
    found.push({ tone: alarm.severity === 'critical' ? 'bad' : 'warn', text: alarm.text, detail: alarm.kind, subject: alarm.subject, alarm });
  }
  const alarmed = new Set(alarms.map((alarm) => `${alarm.subject.kind}/${alarm.subject.id}`));
  for (const subnet of subnets) {
    if (!subnet.live || alarmed.has(`subnet/${subnet.id}`)) continue;
    const phase: string = subnet.live.phase;
    if (!QUIET_PHASES.has(phase)) {
      found.push({ tone: phase === 'offline' || phase === 'blind' ? 'bad' : 'warn', text: `subnet ${subnet.id} is ${phase}${subnet.live.problem ? `: ${subnet.live.problem}` : ''}`, detail: 'subnet', subject: { kind: 'subnet', id: subnet.id } });
    }
    // A cable that is down is one too; its alarm tells of it, or is looked after.
    const differences = subnet.live.differenceCount - alarms.filter((alarm) => alarm.kind === 'link.down' && alarm.subnet === subnet.id).length;
    if (differences > 0) {
      found.push({ tone: 'warn', text: `subnet ${subnet.id}: ${differences} difference${differences === 1 ? '' : 's'} from the accepted cabling`, detail: 'cabling', subject: { kind: 'subnet', id: subnet.id } });
    }
  }
  for (const guarantee of guarantees) {
    if (guarantee.state === 'atRisk' && !alarmed.has(`job/${guarantee.job}`)) {
      found.push({ tone: 'bad', text: `guarantee of ${guarantee.job} (${guarantee.tenant}) is at risk: ${guarantee.reason}`, detail: 'guarantee', subject: { kind: 'job', id: guarantee.job } });
    }
  }
  for (const drain of drains) {
    if (drain.state === 'drained') {
      found.push({ tone: 'drain', text: `${drain.kind} ${drain.name} is safe to unplug${drain.reason ? `: ${drain.reason}` : ''}`, detail: 'drain', subject: { kind: drain.kind, id: drain.id, name: drain.name } });
    } else if (drain.waitsFor) {
      found.push({ tone: 'warn', text: `drain of ${drain.kind} ${drain.name} waits: ${drain.waitsFor}`, detail: 'drain', subject: { kind: drain.kind, id: drain.id, name: drain.name } });
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
