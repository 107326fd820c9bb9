import { describe, expect, it } from 'vitest';
import type { Schema } from '../api/client';
import { EMPTY_LAB, figuresOf, labRequest, outcomeOf, parametersOf, shapesOf } from './lab';

describe('a plan', () => {
  it('asks for exactly what was entered', () => {
    expect(labRequest({ ...EMPTY_LAB, jobs: '8x1x16 nonsense 8x0', failSwitches: 'spine-1, spine-1' }, undefined)).toEqual({
      fabric: { generate: { kind: 'rail-optimized', parameters: { hosts: '64', rails: '8' } } },
      jobs: [{ key: '1: 8x1x16', parallelism: { tensor: 8, pipeline: 1, data: 16 } }],
      change: { failSwitches: ['spine-1'] },
    });
    expect(labRequest({ ...EMPTY_LAB, from: 'file', jobs: '' }, undefined)).toBeUndefined();
    expect(labRequest({ ...EMPTY_LAB, from: 'file', jobs: '', gpusPerNode: '8' }, 'text')).toEqual({ fabric: { file: { text: 'text', gpusPerNode: 8 } } });
    expect(labRequest({ ...EMPTY_LAB, from: 'present', jobs: '' }, undefined)).toEqual({});
    expect(parametersOf('--hosts=64, rails=8 odd')).toEqual({ hosts: '64', rails: '8' });
    expect(shapesOf('8x2x4\n1x1x1').map(({ parallelism }) => parallelism)).toEqual([{ tensor: 8, pipeline: 2, data: 4 }, { tensor: 1, pipeline: 1, data: 1 }]);
  });
  it('is compared by its figures', () => {
    const placed = { key: 'a', status: 200, placement: { outcome: 'placed', warnings: [], predicted: { communicationMs: 12 } } };
    const refused = { key: 'b', status: 400, problem: { code: 'jobs.invalid' } };
    const answer = { fabric: { gpus: 64, freeGpus: 32, switches: 6 }, routes: { maxLinkLoad: 9, longestRoute: 2 }, placements: [placed, refused], after: null } as unknown as Schema['LabAnswer'];
    expect(Object.fromEntries(figuresOf(answer))).toMatchObject({ GPUs: 64, 'Jobs that fit': 1, 'Slowest communication, ms': 12, 'Pairs on the fullest link': 9, 'Ports cut off by the failure': null });
    expect(answer.placements.map(outcomeOf)).toEqual(['placed', 'jobs.invalid']);
    expect(outcomeOf(undefined)).toBe('–');
  });
});
