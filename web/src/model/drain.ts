// The steps of a drain, and how to name several things at once.
import type { Schema } from '../api/client';
import { command } from './cli';

export type DrainKind = 'link' | 'switch' | 'node';

export interface Target {
  kind: DrainKind;
  id: string;
}

// One line each, or by commas: "a link has two ports", so it is told by "--".
export function parseTargets(kind: DrainKind, text: string): Target[] {
  const seen = new Set<string>();
  return text
    .split(/[\s,]+/)
    .filter((id) => id !== '' && !seen.has(id) && seen.add(id))
    .map((id) => ({ kind, id }));
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
