// What can be done about an alarm, where it is read: look at a repair, drain what fails, try its failure, say that one looks
// after it.
import { notifications } from '@mantine/notifications';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { body, client, type Schema } from '../api/client';
import { command } from '../model/cli';
import { duration, parseDuration } from '../model/format';
import { inWords } from '../model/health';
import { EditButton, type Editing } from './edit';
import { May } from './may';

type Alarm = Schema['Alarm'];

// By the names of devices.
const named = ({ text, subject }: Alarm) => inWords(text).replace(subject.id, subject.name);

const acknowledge = (alarm: Alarm): Editing => ({
  title: 'Acknowledge',
  fields: [{ name: 'note', label: 'Note', kind: 'text', hint: 'For other people: what is done about it' }],
  note: <p className="dim">{named(alarm)}</p>,
  save: ({ values }) => body(client.POST('/v1/alarms/{id}/acknowledge', { params: { path: { id: alarm.id } }, body: { note: String(values.note).trim() } })),
  line: ({ values }) => command('alarms', 'acknowledge', alarm.id, ...(values.note ? ['--note', String(values.note)] : [])),
  saved: 'Acknowledged, for everybody',
  submit: 'Acknowledge',
});

const SPANS = ['PT30M', 'PT1H', 'PT2H', 'PT8H', 'P1D', 'P7D'];
const spanText = (span: string) => ({ PT30M: '30m', PT1H: '1h', PT2H: '2h', PT8H: '8h', P1D: '1d', P7D: '7d' })[span] ?? span;
const mute = (alarm: Alarm): Editing => ({
  title: 'Mute',
  fields: [
    { name: 'for', label: 'For', kind: 'choice', options: SPANS, texts: Object.fromEntries(SPANS.map((span) => [span, duration(parseDuration(span)!)])), hint: 'It is back by itself then, and at once if it gets worse' },
    { name: 'note', label: 'Why', kind: 'text', hint: 'For other people' },
  ],
  start: { for: 'PT2H' },
  note: <p className="dim">{named(alarm)}</p>,
  save: ({ values }) => body(client.POST('/v1/alarms/{id}/mute', { params: { path: { id: alarm.id } }, body: { for: String(values.for), note: String(values.note ?? '').trim() } })),
  line: ({ values }) => command('alarms', 'mute', alarm.id, '--for', spanText(String(values.for)), ...(values.note ? ['--note', String(values.note)] : [])),
  saved: 'Muted, for all who look',
  submit: 'Mute',
});

function Unmute({ alarm }: { alarm: Alarm }) {
  const queries = useQueryClient();
  const unmute = useMutation({
    mutationFn: () => body(client.POST('/v1/alarms/{id}/unmute', { params: { path: { id: alarm.id } }, body: {} })),
    onError: (error) => notifications.show({ message: error.message, color: 'red' }),
    onSettled: () => void queries.invalidateQueries({ queryKey: ['alarms'] }),
  });
  return <button type="button" className="link-button" disabled={unmute.isPending} onClick={() => unmute.mutate()}>Unmute</button>;
}

function TakeBack({ alarm }: { alarm: Alarm }) {
  const queries = useQueryClient();
  const reopen = useMutation({
    mutationFn: () => body(client.POST('/v1/alarms/{id}/unacknowledge', { params: { path: { id: alarm.id } }, body: {} })),
    onError: (error) => notifications.show({ message: error.message, color: 'red' }),
    onSettled: () => void queries.invalidateQueries({ queryKey: ['alarms'] }),
  });
  return <button type="button" className="link-button" disabled={reopen.isPending} onClick={() => reopen.mutate()}>Take back</button>;
}

const DRAINED = { link: 'POST /v1/links/{id}/drain', switch: 'POST /v1/switches/{id}/drain', node: 'POST /v1/nodes/{id}/drain' } as const;

function Remedy({ alarm: { kind, subject } }: { alarm: Alarm }) {
  if (kind === 'job.damaged') {
    return <May call="POST /v1/jobs/{id}/repair"><Link to="/jobs/$id" params={{ id: subject.id }} search={{ repair: 'plan' } as never}>Repair</Link></May>;
  }
  const drained = DRAINED[subject.kind as keyof typeof DRAINED];
  if (!drained) return null;
  return <May call={drained}><Link to="/drain" search={{ kind: subject.kind, id: subject.kind === 'link' ? subject.name : subject.id } as never}>Drain</Link></May>;
}

export function AlarmActions({ alarm }: { alarm: Alarm }) {
  const { kind, id } = alarm.subject;
  const failing = kind === 'link' || kind === 'switch';
  return (
    <span className="actions">
      <Remedy alarm={alarm} />
      {failing && <May call="POST /v1/routes/diff"><Link to="/planning" search={{ [kind === 'link' ? 'links' : 'switches']: id } as never}>What if it fails</Link></May>}
      <May call="POST /v1/alarms/{id}/mute">{alarm.muted ? <Unmute alarm={alarm} /> : <EditButton plain label="Mute" editing={mute(alarm)} />}</May>
      <May call="POST /v1/alarms/{id}/acknowledge">{alarm.acknowledged ? <TakeBack alarm={alarm} /> : <EditButton plain label="Acknowledge" editing={acknowledge(alarm)} />}</May>
    </span>
  );
}
