// How a job stands, in every list: one that lost GPUs or its network looks so.
import { words } from '../model/format';
import { tone } from '../model/tones';
import { Badge } from './basics';

// Of a job with a launcher the phase says more: offered, accepted, running, releasing.
export function JobState({ job }: { job: { state: string; phase: string | null; damaged: boolean } }) {
  const launched = job.phase !== null && job.phase !== 'running';
  if (job.damaged) return <Badge tone="bad">damaged</Badge>;
  return <Badge tone={tone(launched ? job.phase! : job.state)}>{launched ? words(job.phase!) : words(job.state)}</Badge>;
}
