// Planning on fabrics that do not exist: the request of a form, and what two answers differ in. Pure.
import type { Schema } from '../api/client';

export interface LabForm {
  from: string; // 'present', 'file', or a kind of generated fabric
  parameters: string; // "hosts=64 rails=8"
  gpusPerNode: string; // of an uploaded file without GPUs
  jobs: string; // "8x2x4" a line: TP x PP x DP
  failSwitches: string;
  failLinks: string;
}

export const KINDS: [string, string, string][] = [
  ['rail-optimized', 'Rail-optimized', 'hosts=64 rails=8'],
  ['rail-only', 'Rail-only', 'hosts=32 rails=8'],
  ['fat-tree', 'Fat tree', 'hosts=64 tiers=2'],
  ['dragonfly', 'Dragonfly', ''],
  ['dragonfly-plus', 'Dragonfly+', ''],
  ['torus', '3D torus', ''],
  ['demo-hgx', '128 HGX hosts', ''],
  ['demo-nvl72', '8 NVL72 racks', ''],
];

export const EMPTY_LAB: LabForm = { from: 'rail-optimized', parameters: 'hosts=64 rails=8', gpusPerNode: '', jobs: '8x1x16\n8x4x8', failSwitches: '', failLinks: '' };

const names = (text: string) => [...new Set(text.split(/[\s,]+/).filter(Boolean))];

export function parametersOf(text: string): Record<string, string> {
  return Object.fromEntries(names(text).map((part) => part.replace(/^--/, '').split('=')).filter((pair) => pair.length === 2) as [string, string][]);
}

export function shapesOf(text: string): { shape: string; parallelism: { tensor: number; pipeline: number; data: number } }[] {
  return text
    .split(/[\s,]+/)
    .map((shape) => ({ shape, factors: /^(\d+)x(\d+)x(\d+)$/.exec(shape) }))
    .filter(({ factors }) => factors !== null)
    .map(({ shape, factors }) => ({ shape, parallelism: { tensor: Number(factors![1]), pipeline: Number(factors![2]), data: Number(factors![3]) } }))
    .slice(0, 100);
}

export function labRequest(form: LabForm, file: string | undefined): Schema['LabRequest'] | undefined {
  const request: Record<string, unknown> = {};
  if (form.from === 'file') {
    if (file === undefined) return undefined;
    const gpus = Number(form.gpusPerNode);
    request.fabric = { file: { text: file, ...(gpus > 0 ? { gpusPerNode: gpus } : {}) } };
  } else if (form.from !== 'present') request.fabric = { generate: { kind: form.from, parameters: parametersOf(form.parameters) } };
  const jobs = shapesOf(form.jobs).map(({ shape, parallelism }, i) => ({ key: `${i + 1}: ${shape}`, parallelism }));
  if (jobs.length > 0) request.jobs = jobs;
  const failSwitches = names(form.failSwitches);
  const failLinks = names(form.failLinks);
  if (failSwitches.length + failLinks.length > 0) request.change = { ...(failSwitches.length > 0 ? { failSwitches } : {}), ...(failLinks.length > 0 ? { failLinks } : {}) };
  return request as Schema['LabRequest'];
}

export type Placed = Schema['BatchPlacement'];
export function outcomeOf(item: Placed | undefined): string {
  if (!item) return '–';
  return 'placement' in item ? item.placement.outcome : item.problem.code;
}
export const fitting = (items: Placed[]) => items.filter((item) => outcomeOf(item) === 'placed').length;

// Figures of one plan, by which plans are compared.
export function figuresOf(answer: Schema['LabAnswer']): [string, number | null][] {
  const slowest = (items: Placed[]) => {
    const times = items.flatMap((item) => ('placement' in item && item.placement.predicted ? [item.placement.predicted.communicationMs] : [])).filter((ms): ms is number => typeof ms === 'number');
    return times.length > 0 ? Math.max(...times) : null;
  };
  return [
    ['GPUs', answer.fabric.gpus],
    ['GPUs left free', answer.fabric.freeGpus],
    ['Switches', answer.fabric.switches],
    ['Jobs that fit', fitting(answer.placements)],
    ['Slowest communication, ms', slowest(answer.placements)],
    ['Pairs on the fullest link', answer.routes?.maxLinkLoad ?? null],
    ['Longest route, links', answer.routes?.longestRoute ?? null],
    ['Jobs that fit after the failure', answer.after ? fitting(answer.after.placements) : null],
    ['Ports cut off by the failure', answer.after?.routes?.cutsOffCount ?? null],
    ['Pairs on the fullest link after it', answer.after?.routes?.after.maxLinkLoad ?? null],
    ['Table entries that change', answer.after?.routes?.changedEntries ?? null],
  ];
}
