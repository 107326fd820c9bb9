// The fields of what can be changed in the console; tests hold them to the contract's schemas.
import { command } from './cli';
import type { Field, Values } from './fields';

export const TENANT: Field[] = [
  { name: 'description', label: 'Description', kind: 'text' },
  { name: 'quotaGpus', label: 'Quota', kind: 'integer', nullable: true, hint: 'GPUs that it may always have' },
  { name: 'maxGpus', label: 'At most', kind: 'integer', nullable: true, hint: 'GPUs; empty: no limit' },
  { name: 'cohort', label: 'Cohort', kind: 'text', hint: 'Tenants that lend to each other' },
  { name: 'borrowGpus', label: 'Borrows at most', kind: 'integer', nullable: true, hint: 'GPUs; empty: what is left' },
  { name: 'weight', label: 'Weight', kind: 'number', required: true, hint: 'Of its fair share' },
  { name: 'repair', label: 'When links fail', kind: 'choice', options: ['propose', 'apply'], hint: 'Propose or apply a repair' },
  { name: 'repairAfterSeconds', label: 'After seconds', kind: 'integer', hint: 'How long a loss lasts before' },
  { name: 'maxPriority', label: 'Priority at most', kind: 'text', required: true, hint: 'A class of the rules; higher ones evict jobs of others' },
  { name: 'moves', label: 'Its jobs may be offered moves', kind: 'flag' },
];

export const CONTRACT: Field[] = [
  { name: 'guaranteedGbps', label: 'Guaranteed Gb/s', kind: 'number', hint: 'In each direction; 0: best effort' },
  { name: 'maxGbps', label: 'At most Gb/s', kind: 'number', nullable: true, hint: "Empty: the cable's rate" },
  { name: 'basis', label: 'For each', kind: 'choice', options: ['perPort', 'perJob'] },
  { name: 'model', label: 'Model', kind: 'choice', options: ['hose', 'pattern'], hint: 'Any traffic, or that of the parallelism' },
  { name: 'surviveLinkFailure', label: 'Also after any single link failure', kind: 'flag' },
  { name: 'isolated', label: 'Isolated: its jobs reach each other by its own key alone', kind: 'flag' },
  { name: 'isolation', label: 'Kept from neighbours by', kind: 'choice', options: ['planned', 'class', 'lane'], hint: 'Shares of classes, agents on the nodes, or a lane for each job' },
  { name: 'classes', label: 'Classes', kind: 'list', hint: 'The first by default; empty: all' },
  { name: 'reservedPermille', label: 'Reserved per mille', kind: 'integer', hint: 'Of the promise; below 1000: over-committed' },
  { name: 'maxGpus', label: 'GPUs at most', kind: 'integer', nullable: true },
  { name: 'maxNvlinkDomains', label: 'NVLink domains at most', kind: 'integer', nullable: true },
];

const maintenance = (values: Values) => values.kind === 'maintenance';
// `tenant`, `tensor`, `data` and `within` make its job.
export const RESERVATION: Field[] = [
  { name: 'kind', label: 'Kind', kind: 'choice', options: ['maintenance', 'reservation'] },
  { name: 'from', label: 'From', kind: 'time', required: true },
  { name: 'to', label: 'To', kind: 'time', required: true },
  { name: 'reason', label: 'Reason', kind: 'text' },
  { name: 'nodes', label: 'Nodes', kind: 'list', required: true, when: maintenance, hint: 'All of their GPUs' },
  { name: 'tenant', label: 'Tenant', kind: 'text', required: true, when: (values) => !maintenance(values), hint: 'Whose jobs may use it' },
  { name: 'tensor', label: 'TP', kind: 'integer', required: true, when: (values) => !maintenance(values) },
  { name: 'data', label: 'DP', kind: 'integer', required: true, when: (values) => !maintenance(values) },
];
export function reservationBody({ tenant, tensor, data, ...rest }: Record<string, unknown>): Record<string, unknown> {
  if (rest.kind === 'maintenance') return rest;
  return { ...rest, job: { tenant, parallelism: { tensor, data } } };
}

export const POLICY: Field[] = [
  {
    name: 'priorityClasses', label: 'Priority classes', kind: 'rows',
    columns: [
      { name: 'name', label: 'Name', kind: 'text', required: true },
      { name: 'value', label: 'Value', kind: 'integer' },
      { name: 'mayPreempt', label: 'May evict', kind: 'flag' },
      { name: 'preemptible', label: 'May be evicted', kind: 'flag' },
    ],
  },
  { name: 'backfill', label: 'Backfill', kind: 'choice', options: ['easy', 'conservative', 'none'] },
  { name: 'fairShare', label: 'Fair share', kind: 'choice', options: ['running', 'decayed', 'none'] },
  { name: 'halfLife', label: 'Half-life of usage', kind: 'duration' },
  { name: 'defaultDuration', label: 'Duration of jobs that say none', kind: 'duration' },
  { name: 'overrun', label: 'Overrun that is assumed', kind: 'duration' },
  { name: 'starvationBound', label: 'Waits at most, before nothing passes it', kind: 'duration' },
  { name: 'minRuntime', label: 'Runs before it may be evicted', kind: 'duration' },
  { name: 'reservedJobs', label: 'Places kept by conservative backfill', kind: 'integer' },
  { name: 'preemptionPlans', label: 'Attempts to make room in a cycle', kind: 'integer' },
  { name: 'placeWait', label: 'Waits for a better place at most', kind: 'duration' },
  { name: 'placeWaitPlace', label: 'Its place meanwhile is', kind: 'choice', options: ['kept', 'yielded'] },
  { name: 'placeWaitShare', label: 'Waits for it at most, share of its duration', kind: 'number' },
  { name: 'placeWaitGain', label: 'Waits for it where it would be slower by more than', kind: 'number' },
  { name: 'moves', label: 'Running jobs are offered moves', kind: 'choice', options: ['onRequest', 'automatic'] },
  { name: 'moveAfter', label: 'after the first job has waited', kind: 'duration' },
  { name: 'moveBudget', label: 'Moves lose at most, GPU seconds an hour', kind: 'number' },
  { name: 'movesAtOnce', label: 'Jobs that may be moving', kind: 'integer' },
  { name: 'moveAnswer', label: 'The offer of a move stands for', kind: 'duration' },
  { name: 'moveUnanswered', label: 'Without an answer the job is', kind: 'choice', options: ['keep', 'evict'] },
  { name: 'reclaimAnyPriority', label: 'Borrowed GPUs go back even from higher classes', kind: 'flag' },
];

// `hold`, `before` and `after` have buttons of their own.
export function jobChange(queued: boolean, classes: string[]): Field[] {
  const waiting: Field[] = [
    { name: 'priority', label: 'Priority', kind: 'choice', options: classes },
    { name: 'notBefore', label: 'Not before', kind: 'time', nullable: true },
    { name: 'excludeNodes', label: 'Not on these nodes', kind: 'list', nullable: true },
  ];
  return [
    ...(queued ? waiting : []),
    { name: 'expectedDuration', label: 'Expected to run', kind: 'duration', nullable: true, hint: 'Like 36h' },
    { name: 'minRuntime', label: 'Runs before it may be evicted', kind: 'duration', nullable: true },
  ];
}

const option = (name: string, value: unknown) => (value === undefined || value === null || value === '' ? [] : [name, String(value)]);
const each = (name: string, list: unknown) => ((list as string[] | null | undefined) ?? []).flatMap((item) => [name, item]);

export const tenantCommand = (name: string, body: Record<string, unknown>) =>
  command('tenants', 'set', name, ...option('--description', body.description), ...option('--quota', body.quotaGpus), ...option('--max-gpus', body.maxGpus), body.maxGpus === null && '--no-limit', ...option('--cohort', body.cohort), ...option('--borrow', body.borrowGpus), ...option('--weight', body.weight), ...option('--repair', body.repair), ...option('--repair-after', body.repairAfterSeconds), ...option('--max-priority', body.maxPriority), body.moves === false && '--moves=off');
export const contractCommand = (tenant: string, body: Record<string, unknown>) =>
  command('contracts', 'set', tenant, ...option('--guaranteed', body.guaranteedGbps), ...option('--max', body.maxGbps), '--per', body.basis === 'perJob' ? 'job' : 'port', ...option('--model', body.model), body.surviveLinkFailure ? '--survive' : '--no-survive', body.isolated ? '--isolate' : '--no-isolate', ...option('--isolation', body.isolation), ...each('--class', body.classes), ...option('--reserved-permille', body.reservedPermille), ...option('--max-gpus', body.maxGpus), ...option('--max-nvlink-domains', body.maxNvlinkDomains));
export const reservationCommand = (name: string, body: Record<string, unknown>) =>
  command('reservations', 'set', name, ...option('--from', body.from), ...option('--to', body.to), ...option('--reason', body.reason), ...each('--node', body.nodes), ...option('--tenant', body.tenant), ...option('--tp', body.tensor), ...option('--dp', body.data));
export const jobChangeCommand = (id: string, body: Record<string, unknown>) => {
  const orNone = (name: string, value: unknown) => (value === undefined ? [] : [name, value === null ? 'none' : String(value)]);
  return command('jobs', 'change', id, ...option('--priority', body.priority), ...orNone('--not-before', body.notBefore), ...orNone('--duration', body.expectedDuration), ...orNone('--min-runtime', body.minRuntime), ...(body.excludeNodes === null ? ['--exclude-none'] : each('--exclude', body.excludeNodes)), ...option('--reason', body.reason));
};
