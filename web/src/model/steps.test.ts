import { describe, expect, it } from 'vitest';
import type { Schema } from '../api/client';
import { controlText, gainBasis, gainText, periodText } from './steps';

const gain: Schema['StepGain'] = { step: 'place', scheduler: 'slurm', parts: ['all'], of: 'workloadJobs', gainPermille: 123, interval: { lowPermille: 40, highPermille: 198 }, jobsWith: 4, jobsWithout: 3, workloads: 1 };
const period: Schema['StepPeriod'] = { placing: 'place', routed: true, guaranteed: false, since: '2026-01-01T00:00:00Z', until: '2026-01-01T00:00:00Z', steps: 10, seconds: 9, stepMs: 900, predictedMs: 750, factor: 1.2 };

describe('gains', () => {
  it('say how much, how sure and of what', () => {
    expect(gainText(gain)).toBe('steps take 12.3% less time (95%: 4.0% to 19.8%)');
    expect(gainBasis(gain)).toBe('4 jobs with it, 3 without');
  });
  it('say that steps take longer, with the interval turned round', () => {
    expect(gainText({ ...gain, gainPermille: -50, interval: { lowPermille: -120, highPermille: 20 } })).toBe('steps take 5.0% more time (95%: -2.0% to 12.0%)');
  });
  it('are never of one job without saying so', () => {
    const one: Schema['StepGain'] = { ...gain, of: 'oneJob', interval: null, jobsWith: 1, jobsWithout: 1 };
    expect(gainText(one)).toBe('steps take 12.3% less time');
    expect(gainBasis(one)).toContain('one job');
    expect(gainBasis({ ...gain, of: 'sameJobs' })).toBe('4 jobs before and after');
  });
});

describe('periods', () => {
  it('stand beside the prediction, where there is one', () => {
    expect(periodText(period)).toBe('900 ms, 1.20 times the 750 ms predicted');
    expect(periodText({ ...period, predictedMs: null, factor: null })).toBe('900 ms');
    expect(periodText({ ...period, stepMs: null, factor: null })).toBe('none counted yet');
    expect(controlText(period)).toBe('at place, own routes');
  });
});
