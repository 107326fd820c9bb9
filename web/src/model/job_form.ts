// What the submit form holds, as the request of the contract and as the command line.
import type { Schema } from '../api/client';
import { command } from './cli';

// What of the contract's JobRequest the form can say; openapi-typescript makes nothing of an anyOf beside properties.
export interface JobRequest {
  name?: string;
  tenant?: string;
  priority?: string;
  parallelism: Record<string, number>;
  topology?: Record<string, unknown>;
  model?: Schema['Model'];
  bandwidth?: Schema['Bandwidth'];
  expectedDuration?: string;
  excludeNodes?: string[];
  tolerations?: Schema['Toleration'][];
  cpuRoles?: { name: string; members: number; maxPerNode?: number }[];
  queue?: boolean;
  launcher?: Schema['LauncherRequest'];
  adopt?: { nodes: string[]; gpus?: number[] };
}

export interface JobForm {
  name: string;
  tenant: string;
  priority: string;
  tensor: string;
  pipeline: string;
  data: string;
  context: string;
  expert: string;
  within: string; // level that the whole job must share
  stage: string; // level that a pipeline stage prefers
  model: string; // preset; empty: none
  guaranteed: string; // Gb/s at each port; empty: as the contract says
  survive: boolean;
  duration: string; // hours
  exclude: string; // nodes, by commas
  tolerate: string; // taints, by commas: dedicated=inference, nvlink
  cpu: string; // members without GPUs, by commas: driver=1, loader=8:2
  queue: boolean;
  launcher: boolean; // acknowledges each step
  on: string; // nodes that it runs on already, in the order of ranks; empty: it is placed
  onGpus: string; // the same ones of each; empty: all
}

export const EMPTY_FORM: JobForm = {
  name: '', tenant: '', priority: 'normal', tensor: '8', pipeline: '1', data: '1', context: '1', expert: '1',
  within: '', stage: '', model: '', guaranteed: '', survive: false, duration: '', exclude: '', tolerate: '', cpu: '', queue: false, launcher: false, on: '', onGpus: '',
};

export const MODELS: Record<string, { name: string; model: Schema['Model'] }> = {
  '7b': { name: '7 billion, dense', model: { name: '7b', parameters: 7e9, layers: 32, hiddenSize: 4096, sequenceLength: 4096, globalBatchSize: 1024 } as Schema['Model'] },
  '70b': { name: '70 billion, dense', model: { name: '70b', parameters: 70e9, layers: 80, hiddenSize: 8192, sequenceLength: 8192, globalBatchSize: 1024 } as Schema['Model'] },
  '405b': { name: '405 billion, dense', model: { name: '405b', parameters: 405e9, layers: 126, hiddenSize: 16384, sequenceLength: 8192, globalBatchSize: 2048 } as Schema['Model'] },
};

const FACTORS = ['tensor', 'pipeline', 'data', 'context', 'expert'] as const;

function factor(text: string): number | undefined {
  const value = Number(text);
  return /^\d+$/.test(text.trim()) && value >= 1 && value <= 1_048_576 ? value : undefined;
}

export function gpusOf(form: JobForm): number | undefined {
  let product = 1;
  for (const name of FACTORS) {
    const value = factor(form[name]);
    if (value === undefined) return undefined;
    product *= value;
  }
  return product <= 1_048_576 ? product : undefined;
}

const wordsOf = (text: string) => text.split(/[\s,]+/).filter(Boolean);

/** Of "driver=1, loader=8:2", at most 2 loaders on a node; undefined: it is written otherwise. */
export function cpuRolesOf(text: string): NonNullable<JobRequest['cpuRoles']> | undefined {
  const roles: NonNullable<JobRequest['cpuRoles']> = [];
  for (const word of wordsOf(text)) {
    const parts = /^([^=]+)=([1-9]\d*)(?::([1-9]\d*))?$/.exec(word);
    if (!parts) return undefined;
    roles.push({ name: parts[1]!, members: Number(parts[2]), ...(parts[3] ? { maxPerNode: Number(parts[3]) } : {}) });
  }
  return roles;
}

/** Nodes of members, each once with how many are there, in the order of the first. */
export function seatsOf(nodes: string[]): [string, number][] {
  const seats = new Map<string, number>();
  for (const node of nodes) seats.set(node, (seats.get(node) ?? 0) + 1);
  return [...seats];
}

// What is wrong with the form, by field; the service has the last word.
export function formErrors(form: JobForm): Partial<Record<keyof JobForm, string>> {
  const errors: Partial<Record<keyof JobForm, string>> = {};
  for (const name of FACTORS) {
    if (factor(form[name]) === undefined) errors[name] = 'a whole number from 1';
  }
  if (form.guaranteed && !(Number(form.guaranteed) >= 0)) errors.guaranteed = 'a rate in Gb/s';
  if (form.duration && !(Number(form.duration) > 0)) errors.duration = 'a number of hours';
  if (cpuRolesOf(form.cpu) === undefined) errors.cpu = 'names and numbers, like driver=1, loader=8:2';
  if (wordsOf(form.tolerate).some((word) => word.startsWith('='))) errors.tolerate = 'a taint, like dedicated or dedicated=inference';
  if (form.onGpus && !/^[\s,\d]+$/.test(form.onGpus)) errors.onGpus = 'numbers of GPUs, like 0, 1, 2, 3';
  return errors;
}

const adoptedNodes = (form: JobForm) => form.on.split(/[\s,]+/).filter(Boolean);
// What is asked of a placement: not how it is started.
export function questionOf(form: JobForm): JobRequest {
  const { queue: _queue, launcher: _launcher, adopt: _adopt, ...question } = requestOf(form);
  return question;
}

export function requestOf(form: JobForm): JobRequest {
  const parallelism = Object.fromEntries(FACTORS.map((name) => [name, factor(form[name]) ?? 1]).filter(([, value]) => value !== 1));
  const topology: Record<string, unknown> = {};
  if (form.within) topology.job = { required: form.within };
  if (form.stage) topology.pipeline = { preferred: form.stage };
  const exclude = wordsOf(form.exclude);
  const cpuRoles = cpuRolesOf(form.cpu) ?? [];
  const request: JobRequest = { parallelism: parallelism as Record<string, number> };
  if (form.name.trim()) request.name = form.name.trim();
  if (form.tenant) request.tenant = form.tenant;
  if (form.priority && form.priority !== 'normal') request.priority = form.priority;
  if (Object.keys(topology).length > 0) request.topology = topology;
  if (form.model && MODELS[form.model]) request.model = MODELS[form.model]!.model;
  if (form.guaranteed !== '') request.bandwidth = { guaranteedGbpsPerPort: Number(form.guaranteed), surviveLinkFailure: form.survive };
  if (form.duration) request.expectedDuration = `PT${Math.round(Number(form.duration) * 3600)}S`;
  if (exclude.length > 0) request.excludeNodes = exclude;
  const tolerations = wordsOf(form.tolerate).map((word) => {
    const [key, ...value] = word.split('=');
    return value.length > 0 ? { key: key!, value: value.join('=') } : { key: key! };
  });
  if (tolerations.length > 0) request.tolerations = tolerations;
  if (cpuRoles.length > 0) request.cpuRoles = cpuRoles;
  const on = adoptedNodes(form);
  if (form.queue && on.length === 0) request.queue = true;
  if (form.launcher) request.launcher = { acknowledges: true, checkpointable: false };
  if (on.length > 0) request.adopt = { nodes: on, ...(form.onGpus.trim() ? { gpus: form.onGpus.split(/[\s,]+/).filter(Boolean).map(Number) } : {}) };
  return request;
}

export function commandOf(form: JobForm, what: 'place' | 'submit'): string {
  const request = requestOf(form);
  const on = what === 'submit' ? adoptedNodes(form) : [];
  const verb = what === 'place' ? ['place'] : ['jobs', on.length > 0 ? 'adopt' : 'submit'];
  const option = (name: string, value: string) => (value && value !== '1' ? [name, value] : []);
  return command(
    ...verb,
    ...(form.tenant ? ['--tenant', form.tenant] : []),
    ...(form.name.trim() ? ['--name', form.name.trim()] : []),
    ...option('--tp', form.tensor), ...option('--pp', form.pipeline), ...option('--dp', form.data),
    ...option('--cp', form.context), ...option('--ep', form.expert),
    ...(gpusOf(form) === 1 ? ['--gpus', '1'] : []),
    ...(form.priority !== 'normal' ? ['--priority', form.priority] : []),
    ...(form.within ? ['--require', `job=${form.within}`] : []),
    ...(form.stage ? ['--prefer', `pipeline=${form.stage}`] : []),
    ...(request.model ? ['--model', JSON.stringify(request.model)] : []),
    ...(request.bandwidth ? ['--bandwidth', JSON.stringify(request.bandwidth)] : []),
    ...(request.expectedDuration ? ['--duration', request.expectedDuration] : []),
    ...(request.excludeNodes ?? []).flatMap((node) => ['--exclude', node]),
    ...wordsOf(form.tolerate).flatMap((taint) => ['--tolerate', taint]),
    ...(request.cpuRoles ? wordsOf(form.cpu).flatMap((role) => ['--cpu-role', role]) : []),
    what === 'submit' && on.length === 0 && form.queue && '--queue',
    ...on.flatMap((node) => ['--on', form.onGpus.trim() ? `${node}:${form.onGpus.split(/[\s,]+/).filter(Boolean).join(',')}` : node]),
  );
}
