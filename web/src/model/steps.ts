// Step times that jobs report, and what steps of control have gained by them, in words.
import type { Schema } from '../api/client';
import { count, milliseconds } from './format';

const inPercent = (permille: number) => `${(permille / 10).toFixed(1)}%`;

/** "steps take 12.3% less time (95%: 4.0% to 19.8%)" */
export function gainText(gain: Schema['StepGain']): string {
  const longer = gain.gainPermille < 0;
  const text = `steps take ${inPercent(Math.abs(gain.gainPermille))} ${longer ? 'more' : 'less'} time`;
  if (!gain.interval) return text;
  const { lowPermille, highPermille } = gain.interval;
  const [low, high] = longer ? [-highPermille, -lowPermille] : [lowPermille, highPermille];
  return `${text} (95%: ${inPercent(low)} to ${inPercent(high)})`;
}

/** What it was measured on. */
export function gainBasis(gain: Schema['StepGain']): string {
  if (gain.of === 'oneJob') return 'one job before and after: no more than a hint';
  if (gain.of === 'sameJobs') return `${count(gain.jobsWith)} jobs before and after`;
  return `${count(gain.jobsWith)} jobs with it, ${count(gain.jobsWithout)} without`;
}

export function controlText(period: Schema['StepPeriod']): string {
  return [`at ${period.placing}`, period.routed && 'own routes', period.guaranteed && 'guaranteed'].filter(Boolean).join(', ');
}

/** "912 ms, 1.10 times the 830 ms predicted" */
export function periodText(period: Schema['StepPeriod']): string {
  if (period.stepMs === null) return 'none counted yet';
  const measured = milliseconds(period.stepMs);
  return period.factor === null ? measured : `${measured}, ${period.factor.toFixed(2)} times the ${milliseconds(period.predictedMs)} predicted`;
}
