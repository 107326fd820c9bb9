import { describe, expect, it } from 'vitest';
import type { Schema } from '../api/client';
import { spanOf, ticks } from './plots/calendar';
import { checkCertificate } from './certificate';
import { parseTargets, drainCommand, routeChange, stepOf, targetTexts, together } from './drain';
import { byType, inWords, needs, strandedGpus, unwatched, type Facts } from './health';
import { linkNamed } from './names';
import { waitReasons } from './queue';
import { commandOf, cpuRolesOf, EMPTY_FORM, formErrors, gpusOf, requestOf, seatsOf } from './job_form';
import { arrange, byRail, telling, type Rank } from './placement';
import { isAddress, rankMatches, type Found } from './search';

function rank(number: number, node: string, gpu: number, more: Partial<Rank> = {}): Rank {
  return { rank: number, node, gpu, nics: [{ device: `mlx5_${gpu}`, port: `${node}/${gpu}`, rail: gpu % 2 }], dp: 0, pp: 0, cp: 0, ep: 0, tp: number, ...more };
}

describe('a placement', () => {
  const ranks = [rank(0, 'n2', 0), rank(1, 'n2', 1), rank(2, 'n1', 0, { pp: 1, tp: 0 }), rank(3, 'n1', 1, { pp: 1, tp: 1 })];
  it('is arranged by racks, every GPU of a node drawn', () => {
    const racks = arrange(ranks, (node) => (node === 'n1' ? 'A' : 'B'), () => 4);
    expect(racks.map((one) => one.name)).toEqual(['B', 'A']);
    expect(racks[0]!.hosts[0]!.size).toBe(4);
    expect([...racks[0]!.hosts[0]!.gpus.keys()]).toEqual([0, 1]);
    expect(racks.flatMap((one) => one.hosts).reduce((sum, host) => sum + host.gpus.size, 0)).toBe(ranks.length);
  });
  it('is coloured by what differs', () => {
    expect(telling(ranks)).toEqual(['pp', 'tp']);
    expect(byRail(ranks)).toEqual([[0, 2], [1, 2]]);
  });
});

describe('the job form', () => {
  it('counts GPUs, and says what is wrong', () => {
    expect(gpusOf({ ...EMPTY_FORM, tensor: '8', data: '4' })).toBe(32);
    expect(gpusOf({ ...EMPTY_FORM, tensor: '1.5' })).toBeUndefined();
    expect(gpusOf({ ...EMPTY_FORM, tensor: '1048576', data: '2' })).toBeUndefined();
    expect(formErrors(EMPTY_FORM)).toEqual({});
    expect(Object.keys(formErrors({ ...EMPTY_FORM, pipeline: '0', duration: '-1', guaranteed: 'x' }))).toEqual(['pipeline', 'guaranteed', 'duration']);
  });
  it('asks for exactly what was entered', () => {
    expect(requestOf(EMPTY_FORM)).toEqual({ parallelism: { tensor: 8 } });
    expect(requestOf({ ...EMPTY_FORM, tenant: 'research', data: '2', within: 'rack', exclude: 'a, b', duration: '1.5', guaranteed: '40', queue: true })).toEqual({
      tenant: 'research', parallelism: { tensor: 8, data: 2 }, topology: { job: { required: 'rack' } }, excludeNodes: ['a', 'b'],
      expectedDuration: 'PT5400S', bandwidth: { guaranteedGbpsPerPort: 40, surviveLinkFailure: false }, queue: true,
    });
  });
  it('reads members without GPUs and taints', () => {
    expect(cpuRolesOf('driver=1, loader=8:2')).toEqual([{ name: 'driver', members: 1 }, { name: 'loader', members: 8, maxPerNode: 2 }]);
    expect(cpuRolesOf('')).toEqual([]);
    for (const wrong of ['driver', 'driver=0', '=1', 'driver=1:0', 'driver=x']) expect(cpuRolesOf(wrong)).toBeUndefined();
    expect(Object.keys(formErrors({ ...EMPTY_FORM, cpu: 'driver', tolerate: '=x' }))).toEqual(['cpu', 'tolerate']);
    const form = { ...EMPTY_FORM, cpu: 'loader=8:2', tolerate: 'dedicated=a=b nvlink' };
    expect(requestOf(form)).toEqual({ parallelism: { tensor: 8 }, tolerations: [{ key: 'dedicated', value: 'a=b' }, { key: 'nvlink' }], cpuRoles: [{ name: 'loader', members: 8, maxPerNode: 2 }] });
    expect(commandOf(form, 'place')).toBe('railweave place --tp 8 --tolerate dedicated=a=b --tolerate nvlink --cpu-role loader=8:2');
    expect(seatsOf(['b', 'a', 'b'])).toEqual([['b', 2], ['a', 1]]);
  });
  it('is the same as a command', () => {
    expect(commandOf({ ...EMPTY_FORM, tenant: 'research', data: '2', within: 'rack', exclude: 'a', queue: true }, 'submit')).toBe('railweave jobs submit --tenant research --tp 8 --dp 2 --require job=rack --exclude a --queue');
    expect(commandOf({ ...EMPTY_FORM, tensor: '1' }, 'place')).toBe('railweave place --gpus 1');
  });
});

describe('drains', () => {
  const answer = (more: Partial<Schema['DrainAnswer']>): Schema['DrainAnswer'] => ({ kind: 'link', id: 'x', name: 'x', allowed: true, safe: true, objections: [], cutsOff: [], cutsOffCount: 0, jobsAffected: [], jobsAffectedCount: 0, guaranteesAtRisk: [], changedEntries: 0, changedSwitches: 0, maxLinkLoadBefore: null, maxLinkLoadAfter: null, residualCapacity: null, state: null, waitsFor: null, ...more });
  it('reads several targets once each', () => {
    const mixed = parseTargets('link', 'a/1--b/2 switch:leaf-1, node:n1\nlink:c/1--d/2');
    expect(mixed).toEqual([{ kind: 'link', id: 'a/1--b/2' }, { kind: 'switch', id: 'leaf-1' }, { kind: 'node', id: 'n1' }, { kind: 'link', id: 'c/1--d/2' }]);
    expect(parseTargets('link', targetTexts('link', mixed).join(','))).toEqual(mixed);
    expect(routeChange(mixed)).toEqual({ drainLinks: ['a/1--b/2', 'c/1--d/2'], drainSwitches: ['leaf-1'] });
    expect(routeChange([{ kind: 'node', id: 'n1' }])).toBeUndefined();
    expect(parseTargets('link', ' a/1--b/2\nc/1--d/2, a/1--b/2 ')).toEqual([{ kind: 'link', id: 'a/1--b/2' }, { kind: 'link', id: 'c/1--d/2' }]);
  });
  it('knows its step', () => {
    expect([stepOf(undefined, false), stepOf(undefined, true), stepOf('requested', true), stepOf('rerouting', true), stepOf('drained', true)]).toEqual([0, 1, 2, 2, 3]);
  });
  it('adds up a maintenance window by its worst', () => {
    const job = (effect: 'cutOff' | 'rerouted') => ({ job: 'job-000001', name: '', tenant: 't', effect });
    const all = together([answer({ residualCapacity: 0.9, jobsAffected: [job('rerouted')], changedEntries: 3 }), answer({ safe: false, objections: ['no', 'no'], residualCapacity: 0.97, jobsAffected: [job('cutOff')], changedEntries: 4 })]);
    expect(all).toMatchObject({ safe: false, objections: ['no'], capacity: 0.9, entries: 7 });
    expect(all.jobs).toEqual([job('cutOff')]);
    expect(together([answer({})]).capacity).toBeNull();
  });
  it('names the command', () => {
    expect(drainCommand({ kind: 'switch', id: 'leaf-1' }, { force: true, reason: 'new fan' })).toBe("railweave switches drain leaf-1 --force --reason 'new fan'");
  });
});

describe('what needs a person', () => {
  const nothing: Facts = { alarms: [], subnets: [], guarantees: [], drains: [], waiting: [] };
  const alarm = (severity: 'warning' | 'critical', id: string): Schema['Alarm'] => ({ id, kind: 'link.down', severity, subject: { kind: 'link', id, name: id }, subnet: null, text: `${id} is down`, message: { code: null, parts: [] }, jobs: [], muted: null, raisedAt: '2026-11-22T12:00:00Z', acknowledged: null, version: 1 });
  it('is said in words of the page, not of the API', () => {
    expect(inWords('it is cut off: POST /v1/jobs/job-000001/repair moves their ranks')).toBe('it is cut off: a repair moves their ranks');
    expect(inWords('nothing of the kind')).toBe('nothing of the kind');
  });
  it('is no well-being where no one looks', () => {
    const watched = (unseen: boolean | null) => [{ id: 'compute', live: unseen === null ? null : { unseen } }] as unknown as Parameters<typeof unwatched>[0];
    expect(unwatched(watched(false))).toBeNull();
    expect(unwatched(watched(true))).toContain('compute cannot be seen');
    expect(unwatched(watched(null))).toContain('no subnet is connected');
    expect(unwatched([])).toContain('no subnet is connected');
  });
  it('sums up why jobs wait, in words', () => {
    const waits = waitReasons([{ gpus: 8, waits: { code: 'quotaOfTenant' } }, { gpus: 64, waits: { code: 'noCapacity' } }, { gpus: 8, waits: { code: 'noCapacity' } }, { gpus: 1, waits: null }]);
    expect(waits.map(({ code, jobs, gpus }) => [code, jobs, gpus])).toEqual([['noCapacity', 2, 72], ['quotaOfTenant', 1, 8], ['asked', 1, 1]]);
    expect(waits[0]!.text).toContain('fragments');
  });
  it('names links by their devices where these are known', () => {
    const names = new Map([['0c42a10300280050', 'leaf-1']]);
    expect(linkNamed('0c42a10300280050/3--0c42a10300280060/1', names)).toBe('leaf-1/3--0c42a10300280060/1');
    expect(linkNamed('east--west', names)).toBe('east--west');
  });
  it('is nothing when nothing is wrong', () => expect(needs(nothing)).toEqual([]));
  it('is no alarm that is looked after', () => expect(needs({ ...nothing, alarms: [{ ...alarm('critical', 'a'), acknowledged: { by: 'ana', at: '2026-11-22T12:01:00Z', note: '' } }] })).toEqual([]));
  it('is no difference of the cabling whose alarm is muted', () => {
    const subnets = [{ id: 'compute', live: { phase: 'synced', problem: '', differenceCount: 1 } }] as unknown as Schema['Subnet'][];
    const muted = { ...alarm('warning', 'a'), subnet: 'compute', muted: { by: 'ana', at: '2026-11-22T12:01:00Z', until: '2026-11-22T18:00:00Z', note: '' } };
    expect(needs({ ...nothing, subnets, alarms: [muted] })).toEqual([]);
    expect(needs({ ...nothing, subnets }).map((need) => need.text)).toEqual(['subnet compute: 1 difference from the accepted cabling']);
  });
  it('puts critical first', () => {
    expect(needs({ ...nothing, alarms: [alarm('warning', 'a'), alarm('critical', 'b')] }).map((need) => need.text)).toEqual(['b is down', 'a is down']);
  });
  it('takes states that it does not know for trouble', () => {
    const subnet = (phase: string) => ({ id: 'compute', live: { phase, problem: '', differenceCount: 0 } }) as unknown as Schema['Subnet'];
    expect(needs({ ...nothing, subnets: [subnet('synced')] })).toEqual([]);
    expect(needs({ ...nothing, subnets: [subnet('blind')] })[0]).toMatchObject({ tone: 'bad' });
    expect(needs({ ...nothing, subnets: [subnet('partial')] })[0]).toMatchObject({ tone: 'warn' });
    expect(needs({ ...nothing, subnets: [subnet('somethingNew')] })[0]).toMatchObject({ tone: 'warn' });
  });
  it('strands no GPU where no job asks for one', () => {
    expect(strandedGpus({ strandedGpus: 128, jobsAskedAbout: 0 })).toBe(0);
    expect(strandedGpus({ strandedGpus: 44, jobsAskedAbout: 2 })).toBe(44);
    expect(strandedGpus(undefined)).toBe(0);
  });
  it('counts events of the last hour alone', () => {
    const at = (type: string, time: string) => ({ type, time });
    expect(byType([at('a', '2026-11-22T10:00:00Z'), at('b', '2026-11-22T12:00:00Z'), at('b', '2026-11-22T12:10:00Z')], Date.parse('2026-11-22T11:30:00Z'))).toEqual([['b', 2]]);
  });
});

describe('the search', () => {
  const items: Found[] = [{ kind: 'node', id: 'node-11', name: 'node-11' }, { kind: 'node', id: 'node-1', name: 'node-1' }, { kind: 'switch', id: 'spine-node', name: 'spine-node', note: '0252570100000010' }, { kind: 'node', id: 'node-1', name: 'node-1' }];
  it('puts the exact name first and nothing twice', () => {
    expect(rankMatches('node-1', items, 9).map((item) => item.id)).toEqual(['node-1', 'node-11']);
    expect(rankMatches('0x0252570100000010', items, 9).map((item) => item.id)).toEqual(['spine-node']);
    expect(rankMatches('node', items, 1)).toHaveLength(1);
  });
  it('knows addresses', () => {
    expect(['lid:12', '0252570100000010', '0x0252570100000010', '0252570100000010/1'].every(isAddress)).toBe(true);
    expect(['lid:', 'node-1', '12', '025257010000001g'].some(isAddress)).toBe(false);
  });
});

describe('the calendar', () => {
  it('shows all blocks and now, at least a day', () => {
    const span = spanOf([[100 * 3_600_000, 110 * 3_600_000]], 0);
    expect(span.from).toBeLessThan(0);
    expect(span.to).toBeGreaterThan(110 * 3_600_000);
    expect(spanOf([], 0).to - spanOf([], 0).from).toBeGreaterThanOrEqual(24 * 3_600_000);
  });
  it('has a few marks on whole hours', () => {
    const marks = ticks({ from: 1, to: 30 * 3_600_000 }, 6);
    expect(marks.length).toBeGreaterThan(2);
    expect(marks.length).toBeLessThanOrEqual(7);
    expect(marks.every((at) => at % 3_600_000 === 0)).toBe(true);
  });
});

describe('a certificate', () => {
  const good = { railweave: 'certificate', version: 2, routes: { format: 'opensm.fdbs', fnv1a64: '0' }, usablePermille: 950, classes: [{ name: 'a', sharePermille: 500 }], linksDown: [], jobs: [{ job: 'job-000001', tenant: 't', class: 'a', promise: 'hose', reservedPermille: 1000, survivesLinkFailure: false, ports: [] }], links: [{ from: 'x/1', to: 'y/1', capacityMbps: 400_000, reservedMbps: [380_000], weights: [1] }] } as unknown as Schema['Certificate'];
  it('adds up', () => expect(checkCertificate(good).problems).toEqual([]));
  it('is refused where it does not', () => {
    const bad = structuredClone(good);
    bad.links[0]!.reservedMbps = [380_001];
    expect(checkCertificate(bad).problems).toHaveLength(1);
    const down = structuredClone(good);
    down.linksDown = ['x/1--y/1'];
    expect(checkCertificate(down).problems[0]).toContain('is down');
  });
});
