// The steps of a drain, and how to name several things at once.
import type { Schema } from '../api/client';
import { command } from './cli';

export type DrainKind = 'link' | 'switch' | 'node';

export interface Target {
  kind: DrainKind;
  id: string;
}

// One line each, or by commas. "switch:leaf-1" is of another kind than the others.
export function parseTargets(kind: DrainKind, text: string): Target[] {
  const seen = new Map<string, Target>();
  for (const item of text.split(/[\s,]+/).filter(Boolean)) {
    const [, other, rest] = /^(link|switch|node):(.+)$/.exec(item) ?? [];
    const target = { kind: (other as DrainKind | undefined) ?? kind, id: rest ?? item };
    seen.set(`${target.kind}:${target.id}`, target);
  }
  return [...seen.values()];
}

// As they are written again: without the kind where it is the ordinary one.
export function targetTexts(kind: DrainKind, targets: Target[]): string[] {
  return targets.map((target) => (target.kind === kind ? target.id : `${target.kind}:${target.id}`));
}

// What a drain of all of them at once changes of the routes; undefined: nodes alone.
export function routeChange(targets: Target[]): { drainLinks?: string[]; drainSwitches?: string[] } | undefined {
  const of = (kind: DrainKind) => targets.filter((target) => target.kind === kind).map((target) => target.id);
  const change = { ...(of('link').length > 0 ? { drainLinks: of('link') } : {}), ...(of('switch').length > 0 ? { drainSwitches: of('switch') } : {}) };
  return Object.keys(change).length > 0 ? change : undefined;
}

export function drainCommand({ kind, id }: Target, how: { dryRun?: boolean; force?: boolean; reason?: string; undo?: boolean }): string {
  const nouns = { link: 'links', switch: 'switches', node: 'nodes' };
  return command(nouns[kind], how.undo ? 'undrain' : 'drain', id, how.dryRun && '--dry-run', how.force && '--force', ...(how.reason ? ['--reason', how.reason] : []));
}

// 0 what, 1 preview, 2 under way, 3 safe to unplug.
export function stepOf(state: Schema['DrainState'] | null | undefined, previewed: boolean): number {
  if (state === 'drained') return 3;
  if (state) return 2;
  return previewed ? 1 : 0;
}

// All answers together: what a maintenance window of several costs.
export function together(answers: Schema['DrainAnswer'][]) {
  const jobs = new Map<string, Schema['DrainAnswer']['jobsAffected'][number]>();
  for (const answer of answers) for (const job of answer.jobsAffected) {
    const before = jobs.get(job.job);
    if (!before || job.effect === 'cutOff') jobs.set(job.job, job);
  }
  const shares = answers.map((answer) => answer.residualCapacity).filter((share): share is number => share !== null);
  return {
    safe: answers.every((answer) => answer.safe),
    objections: [...new Set(answers.flatMap((answer) => answer.objections))],
    jobs: [...jobs.values()],
    guarantees: answers.flatMap((answer) => answer.guaranteesAtRisk),
    cutsOff: answers.reduce((sum, answer) => sum + answer.cutsOffCount, 0),
    entries: answers.reduce((sum, answer) => sum + answer.changedEntries, 0),
    capacity: shares.length > 0 ? Math.min(...shares) : null,
  };
}
