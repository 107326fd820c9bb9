import { load } from 'js-yaml';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { bodyOf, changesOf, durationOf, errorsOf, fromLocalInput, toLocalInput, valuesOf, type Field } from './fields';
import { beside } from './queue';
import { CONTRACT, contractCommand, jobChange, jobChangeCommand, POLICY, RESERVATION, reservationBody, TENANT, tenantCommand } from './resources';

type SchemaOf = { properties: Record<string, unknown> };
const { schemas } = (load(readFileSync(new URL('../../../api/openapi.yaml', import.meta.url), 'utf8')) as { components: { schemas: Record<string, SchemaOf> } }).components;
const named = (fields: Field[]) => fields.map((field) => field.name).sort();

describe('the fields of forms', () => {
  it('are all that the contract lets one change', () => {
    expect(named(TENANT)).toEqual(Object.keys(schemas.TenantSpec!.properties).sort());
    expect(named(CONTRACT)).toEqual(Object.keys(schemas.ContractSpec!.properties).sort());
    expect(named(POLICY)).toEqual(Object.keys(schemas.QueueRuleFields!.properties).sort());
    // hold, before and after are buttons; a reservation's job is made of three fields.
    expect([...named(jobChange(true, [])), 'after', 'before', 'hold', 'reason'].sort()).toEqual(Object.keys(schemas.JobChange!.properties).sort());
    expect([...new Set(RESERVATION.map((field) => (['tenant', 'tensor', 'data'].includes(field.name) ? 'job' : field.name)))].sort()).toEqual(Object.keys(schemas.ReservationRequest!.properties).sort());
  });

  it('are read and written without loss', () => {
    const tenant = { description: 'pretraining', maxGpus: 512, quotaGpus: null, cohort: '', borrowGpus: null, weight: 2.5, repair: 'apply', repairAfterSeconds: 30, maxPriority: 'high', moves: true };
    expect(bodyOf(TENANT, valuesOf(TENANT, { ...tenant, gpusHeld: 7, version: 3 }, 'utc'), 'utc')).toEqual(tenant);
    const contract = { guaranteedGbps: 100, maxGbps: null, basis: 'perJob', model: 'pattern', surviveLinkFailure: true, isolated: false, isolation: 'lane', classes: ['all-reduce', 'bulk'], reservedPermille: 900, maxGpus: null, maxNvlinkDomains: 4 };
    expect(bodyOf(CONTRACT, valuesOf(CONTRACT, contract, 'utc'), 'utc')).toEqual(contract);
    const policy = { priorityClasses: [{ name: 'high', value: 10, mayPreempt: true, preemptible: false }], backfill: 'none', fairShare: 'decayed', halfLife: 'PT168H', defaultDuration: 'PT24H', overrun: 'PT5M', starvationBound: 'PT24H', minRuntime: 'PT1M', reclaimAnyPriority: false, reservedJobs: 8, preemptionPlans: 4, placeWait: 'PT30M', placeWaitPlace: 'kept', placeWaitShare: 0.05, placeWaitGain: 0.1, moves: 'onRequest', moveAfter: 'PT5M', moveBudget: 360000, movesAtOnce: 8, moveAnswer: 'PT5M', moveUnanswered: 'keep' };
    expect(bodyOf(POLICY, valuesOf(POLICY, policy, 'utc'), 'utc')).toEqual(policy);
  });

  it('of a patch are only those that differ', () => {
    const fields = jobChange(true, ['normal', 'high']);
    const before = valuesOf(fields, { priority: 'normal', expectedDuration: 'PT36H', excludeNodes: ['n1'], minRuntime: null }, 'utc');
    expect(changesOf(fields, before, before, 'utc')).toEqual({});
    expect(changesOf(fields, before, { ...before, expectedDuration: '', excludeNodes: '', priority: 'high' }, 'utc')).toEqual({ priority: 'high', excludeNodes: null, expectedDuration: null });
    expect(jobChangeCommand('job-000003', { excludeNodes: null, expectedDuration: null, priority: 'high' })).toBe('railweave jobs change job-000003 --priority high --duration none --exclude-none');
    expect(named(jobChange(false, []))).toEqual(['expectedDuration', 'minRuntime']);
  });

  it('of maintenance and of a reservation differ', () => {
    const values = { ...valuesOf(RESERVATION, { kind: 'maintenance', from: '2026-12-01T08:00:00Z', to: '2026-12-01T12:00:00Z', nodes: ['a', 'b'] }, 'utc'), reason: '' };
    expect(errorsOf(RESERVATION, values, 'utc')).toEqual({});
    expect(reservationBody(bodyOf(RESERVATION, values, 'utc'))).toEqual({ kind: 'maintenance', from: '2026-12-01T08:00:00Z', to: '2026-12-01T12:00:00Z', reason: '', nodes: ['a', 'b'] });
    const other = { ...values, kind: 'reservation', tensor: '8', data: '2' };
    expect(Object.keys(errorsOf(RESERVATION, other, 'utc'))).toEqual(['tenant']);
    expect(reservationBody(bodyOf(RESERVATION, { ...other, tenant: 'research' }, 'utc')).job).toEqual({ tenant: 'research', parallelism: { tensor: 8, data: 2 } });
  });

  it('say what is wrong', () => {
    expect(errorsOf(TENANT, { ...valuesOf(TENANT, {}, 'utc'), maxGpus: '1.5', weight: 'much', maxPriority: 'normal' }, 'utc')).toEqual({ maxGpus: 'a whole number', weight: 'a number' });
    const policy = { ...valuesOf(POLICY, {}, 'utc'), halfLife: 'soon', priorityClasses: [{ name: '', value: '1', mayPreempt: false, preemptible: false }] };
    expect(Object.keys(errorsOf(POLICY, policy, 'utc'))).toEqual(['priorityClasses', 'halfLife']);
  });

  it('have durations and times as people write them', () => {
    expect(['36h', '90m', '1d 12h', 'PT5M', '45 s', 'pt1h'].map(durationOf)).toEqual(['PT36H', 'PT90M', 'P1DT12H', 'PT5M', 'PT45S', 'PT1H']);
    expect(['', '36', 'soon', '-1h'].map(durationOf)).toEqual([undefined, undefined, undefined, undefined]);
    expect(toLocalInput('2026-12-01T08:00:30Z', 'utc')).toBe('2026-12-01T08:00');
    expect(fromLocalInput('2026-12-01T08:00', 'utc')).toBe('2026-12-01T08:00:00Z');
    for (const iso of ['2026-03-29T01:30:00Z', '2026-12-01T08:00:00Z']) expect(fromLocalInput(toLocalInput(iso, 'local'), 'local')).toBe(iso);
    expect(fromLocalInput('', 'utc')).toBeUndefined();
  });

  it('name the command that does the same', () => {
    expect(tenantCommand('research', { maxGpus: null, weight: 1, repair: 'propose' })).toBe('railweave tenants set research --no-limit --weight 1 --repair propose');
    expect(contractCommand('research', { guaranteedGbps: 100, basis: 'perPort', surviveLinkFailure: true, isolation: 'lane', classes: ['a'] })).toBe('railweave contracts set research --guaranteed 100 --per port --survive --no-isolate --isolation lane --class a');
  });
});

describe('places in the queue', () => {
  const job = (id: string, place: number, tenant = 'a', priority = 'normal') => ({ id, place, tenant, priority });
  it('are exchanged with jobs of the same tenant and priority', () => {
    const all = [job('1', 1), job('2', 2, 'b'), job('3', 3), job('4', 4, 'a', 'high'), job('5', 5)];
    expect(beside(all, all[2]!)).toEqual({ above: '1', below: '5' });
    expect(beside(all, all[1]!)).toEqual({ above: undefined, below: undefined });
  });
});
