import { describe, expect, it } from 'vitest';
import { spanText, timeTicks, valueTicks } from './axes';
import { workOver } from './history';

describe('axes', () => {
  it('have round values up to the highest', () => {
    expect(valueTicks(400)).toEqual([0, 100, 200, 300, 400]);
    expect(valueTicks(0.37)).toEqual([0, 0.1, 0.2, 0.3, 0.4]);
    expect(valueTicks(3, 4, true)).toEqual([0, 1, 2, 3]);
    expect(valueTicks(0)).toEqual([0, 1]);
    expect(valueTicks(1, 4, true)).toEqual([0, 1]);
  });
  it('have whole times of the zone, with seconds where they are near', () => {
    const noon = Date.parse('2026-11-22T12:00:00Z') / 1000;
    expect(timeTicks(noon - 3600, noon, 6, 'utc').map((tick) => tick.text)).toEqual(['11:00', '11:10', '11:20', '11:30', '11:40', '11:50', '12:00']);
    expect(timeTicks(noon, noon + 20, 5, 'utc').map((tick) => tick.text)).toEqual(['12:00:00', '12:00:05', '12:00:10', '12:00:15', '12:00:20']);
    expect(timeTicks(noon - 5 * 86400, noon, 6, 'utc').map((tick) => tick.text)).toEqual(['11-18', '11-19', '11-20', '11-21', '11-22']);
    expect(spanText(3600)).toBe('60 minutes');
  });
});

describe('work over time', () => {
  it('counts jobs that wait and GPUs that are held, by the times of the jobs', () => {
    const at = (minute: number) => new Date(Date.UTC(2026, 10, 22, 12, minute)).toISOString();
    const jobs = [
      { submittedAt: at(0), startedAt: at(10), endedAt: at(30), gpus: 8 },
      { submittedAt: at(20), startedAt: null, endedAt: null, gpus: 16 },
      { submittedAt: at(0), startedAt: null, endedAt: at(5), gpus: 4 },
    ];
    const lines = workOver(jobs, Date.parse(at(0)) / 1000, Date.parse(at(40)) / 1000, 5);
    expect(lines.waiting.values).toEqual([2, 0, 1, 1, 1]);
    expect(lines.gpus.values).toEqual([0, 8, 8, 0, 0]);
    expect(lines.wanted.values).toEqual([12, 0, 16, 16, 16]);
  });
});
