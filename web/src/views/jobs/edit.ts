// Reservations, the rules of the queue and changes of a job, as forms.
import { body, client, ifMatch, ifNew, tagged, type Schema } from '../../api/client';
import { bodyOf, changesOf } from '../../model/fields';
import { command } from '../../model/cli';
import { jobChange, jobChangeCommand, POLICY, RESERVATION, reservationBody, reservationCommand } from '../../model/resources';
import type { Editing } from '../../parts/edit';

type Json = Record<string, unknown>;
const REASON = { name: 'reason', label: 'Reason', kind: 'text', hint: 'For its history', nullable: true } as const;

export const newReservation: Editing = {
  title: 'Set GPUs aside',
  named: 'Name',
  fields: RESERVATION,
  start: { kind: 'maintenance', tensor: 8, data: 1 },
  save: ({ name, values, zone }) => body(client.PUT('/v1/reservations/{name}', { params: { path: { name } }, headers: ifNew, body: reservationBody(bodyOf(RESERVATION, values, zone)) as never })),
  line: ({ name, values, zone }) => reservationCommand(name, bodyOf(RESERVATION, values, zone)),
  saved: 'GPUs are set aside',
};

export const editReservation = (name: string): Editing => ({
  title: `Reservation ${name}`,
  fields: RESERVATION,
  load: async () => {
    const { value, tag } = await tagged(client.GET('/v1/reservations/{name}', { params: { path: { name } } }));
    return { value: { ...value, nodes: value.nodes.map((run) => String((run as unknown[])[0])), tensor: 1, data: value.gpus }, tag };
  },
  save: ({ values, zone, tag }) => body(client.PUT('/v1/reservations/{name}', { params: { path: { name } }, headers: ifMatch(tag), body: reservationBody(bodyOf(RESERVATION, values, zone)) as never })),
  line: ({ values, zone }) => reservationCommand(name, bodyOf(RESERVATION, values, zone)),
  saved: `${name} is changed`,
  remove: { label: 'Remove it', run: (tag) => body(client.DELETE('/v1/reservations/{name}', { params: { path: { name } }, headers: ifMatch(tag) })) },
});

export const editPolicy: Editing = {
  title: 'Rules of the queue',
  fields: POLICY,
  load: async () => (await tagged(client.GET('/v1/queue/policy'))) as unknown as { value: Json; tag: string | null },
  save: ({ values, zone, tag }) => body(client.PUT('/v1/queue/policy', { headers: ifMatch(tag), body: bodyOf(POLICY, values, zone) as never })),
  line: () => command('queue', 'configure', '--file', 'policy.json'),
  saved: 'The rules are changed',
};

export type JobChange = Schema['JobChange'];
export const changeJob = (id: string, change: JobChange, tag: string | null = null) =>
  body(client.PATCH('/v1/jobs/{id}', { params: { path: { id } }, headers: ifMatch(tag), body: change as never }));

export const editJob = (job: Schema['Job'], classes: string[]): Editing => {
  const fields = [...jobChange(job.state === 'queued', classes), REASON];
  return {
    title: `Change ${job.id}`,
    fields,
    load: async () => {
      const { value, tag } = await tagged(client.GET('/v1/jobs/{id}', { params: { path: { id: job.id } } }));
      return { value: { ...(value.spec as Json), notBefore: value.notBefore }, tag };
    },
    save: ({ values, before, zone, tag }) => changeJob(job.id, changesOf(fields, before, values, zone) as JobChange, tag),
    line: ({ values, before, zone }) => jobChangeCommand(job.id, changesOf(fields, before, values, zone)),
    saved: `${job.id} is changed`,
  };
};
