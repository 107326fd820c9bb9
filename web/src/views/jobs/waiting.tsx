// What can be done to a job that waits: hold, release, go before or after another one of its tenant and priority.
import { notifications } from '@mantine/notifications';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { Schema } from '../../api/client';
import { beside } from '../../model/queue';
import { May } from '../../parts/may';
import { changeJob, type JobChange } from './edit';

export function useChange(id: string) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (change: JobChange) => changeJob(id, change),
    onError: (error) => notifications.show({ message: error.message, color: 'red' }),
    onSettled: () => void Promise.all([queries.invalidateQueries({ queryKey: ['queue'] }), queries.invalidateQueries({ queryKey: ['jobs'] })]),
  });
}

export function WaitingActions({ job, all }: { job: Schema['WaitingJob']; all: Schema['WaitingJob'][] }) {
  const change = useChange(job.id);
  const held = job.waits?.code === 'held';
  const { above, below } = beside(all, job);
  return (
    <May call="PATCH /v1/jobs/{id}">
      <span className="row nowrap" style={{ flexWrap: 'nowrap' }}>
        <button type="button" className="icon-button" disabled={!above || change.isPending} aria-label={`Move ${job.id} up`} title={above ? `Before ${above}` : 'First of its tenant and priority'} onClick={() => change.mutate({ before: above! })}>↑</button>
        <button type="button" className="icon-button" disabled={!below || change.isPending} aria-label={`Move ${job.id} down`} title={below ? `After ${below}` : 'Last of its tenant and priority'} onClick={() => change.mutate({ after: below! })}>↓</button>
        <button type="button" className="link-button" disabled={change.isPending} aria-label={`${held ? 'Release' : 'Hold'} ${job.id}`} onClick={() => change.mutate({ hold: !held })}>{held ? 'Release' : 'Hold'}</button>
      </span>
    </May>
  );
}
