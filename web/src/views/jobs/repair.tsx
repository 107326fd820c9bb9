// Moving a damaged job's ranks off what it lost: the plan first, then the change.
import { Button, Modal } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { body, client, type Schema } from '../../api/client';
import { command } from '../../model/cli';
import { count, milliseconds, words } from '../../model/format';
import { Cli, Facts, Shown } from '../../parts/basics';

const repair = (id: string, dryRun: boolean) => body(client.POST('/v1/jobs/{id}/repair', { params: { path: { id }, query: { dryRun } }, body: { guarantee: false } }));

export function RepairJob({ id, close }: { id: string; close: () => void }) {
  const queries = useQueryClient();
  const plan = useQuery({ queryKey: ['jobs', id, 'repair'], queryFn: () => repair(id, true) as Promise<Schema['RepairPlan']>, gcTime: 0, retry: false });
  const run = useMutation({
    mutationFn: () => repair(id, false),
    onSuccess: () => {
      notifications.show({ message: `The ranks of ${id} are moved`, color: 'green' });
      void queries.invalidateQueries();
      close();
    },
    onError: (error) => notifications.show({ message: error.message, color: 'red' }),
  });
  return (
    <Modal opened onClose={close} title={`Repair ${id}`} size="lg" lockScroll={false} closeButtonProps={{ 'aria-label': 'Close' }}>
      <div className="stack" data-testid="repair">
        <Shown query={plan}>
          {(found) => (
            <Facts
              items={[
                ['Lost', `${count(found.lost.length)} GPUs`],
                ['Moves', found.placedAnew ? 'the whole job is placed again' : `${count(found.moves.length)} ranks${found.within ? `, within one ${words(found.within)}` : ''}`],
                ['A step communicates', `${milliseconds(found.predictedBefore?.communicationMs ?? null)} before, ${milliseconds(found.predictedAfter?.communicationMs ?? null)} after`],
                ['To', [...new Set(found.moves.map((move) => move.to.node))].slice(0, 8).join(', ') || '–'],
              ]}
            />
          )}
        </Shown>
        <p className="dim">Its processes have to be started again where its ranks are then, from its last checkpoint.</p>
        <Cli line={command('jobs', 'repair', id)} />
        <div className="row" style={{ justifyContent: 'flex-end' }}>
          <Button variant="default" onClick={close}>Close</Button>
          <Button disabled={!plan.data} loading={run.isPending} onClick={() => run.mutate()} data-autofocus>Move its ranks</Button>
        </div>
      </div>
    </Modal>
  );
}
