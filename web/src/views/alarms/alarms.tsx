// What is wrong now, and who looks after it: acknowledging is for everybody.
import { notifications } from '@mantine/notifications';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { body, client, type Schema } from '../../api/client';
import { alarmsQuery } from '../../api/queries';
import { useParam } from '../../app/params';
import { command } from '../../model/cli';
import { words } from '../../model/format';
import { tone } from '../../model/tones';
import { Badge, Cli, Empty, Panel, Shown, SubjectLink, Title, When } from '../../parts/basics';
import { EditButton, type Editing } from '../../parts/edit';
import { May } from '../../parts/may';
import { DataTable } from '../../parts/table';

const acknowledge = (alarm: Schema['Alarm']): Editing => ({
  title: 'Acknowledge',
  fields: [{ name: 'note', label: 'Note', kind: 'text', hint: 'For other people: what is done about it' }],
  note: <p className="dim">{alarm.text}</p>,
  save: ({ values }) => body(client.POST('/v1/alarms/{id}/acknowledge', { params: { path: { id: alarm.id } }, body: { note: String(values.note).trim() } })),
  line: ({ values }) => command('alarms', 'acknowledge', alarm.id, ...(values.note ? ['--note', String(values.note)] : [])),
  saved: 'Acknowledged, for everybody',
  submit: 'Acknowledge',
});

function TakeBack({ alarm }: { alarm: Schema['Alarm'] }) {
  const queries = useQueryClient();
  const reopen = useMutation({
    mutationFn: () => body(client.POST('/v1/alarms/{id}/unacknowledge', { params: { path: { id: alarm.id } }, body: {} })),
    onError: (error) => notifications.show({ message: error.message, color: 'red' }),
    onSettled: () => void queries.invalidateQueries({ queryKey: ['alarms'] }),
  });
  return <button type="button" className="link-button" disabled={reopen.isPending} onClick={() => reopen.mutate()}>Take back</button>;
}

export function Alarms() {
  const query = useQuery(alarmsQuery());
  const [severity, setSeverity] = useParam('severity');
  const [kind, setKind] = useParam('kind');
  const [all, setAll] = useParam('acknowledged');
  const failing = (alarm: Schema['Alarm']) => alarm.subject.kind === 'link' || alarm.subject.kind === 'switch';
  return (
    <>
      <Title actions={<Cli line={command('alarms')} />}>Alarms</Title>
      <Panel title="What is wrong now" flush>
        <Shown query={query}>
          {({ items }) => {
            const rows = items
              .filter((alarm) => (!severity || alarm.severity === severity) && (!kind || alarm.kind === kind) && (all === 'shown' || alarm.acknowledged === null))
              .sort((a, b) => Number(b.severity === 'critical') - Number(a.severity === 'critical') || b.raisedAt.localeCompare(a.raisedAt));
            const hidden = items.filter((alarm) => alarm.acknowledged !== null).length;
            return (
              <DataTable
                name="alarms"
                rows={rows}
                rowKey={(alarm) => alarm.id}
                empty={<Empty title={hidden > 0 ? `Nothing else is wrong; ${hidden} acknowledged` : 'Nothing is wrong'} />}
                filters={
                  <>
                    <select className="select" aria-label="Severity" value={severity} onChange={(event) => setSeverity(event.target.value)}>
                      <option value="">Any severity</option>
                      {[...new Set(items.map((alarm) => alarm.severity))].sort().map((name) => <option key={name}>{name}</option>)}
                    </select>
                    <select className="select" aria-label="Kind" value={kind} onChange={(event) => setKind(event.target.value)}>
                      <option value="">Any kind</option>
                      {[...new Set(items.map((alarm) => alarm.kind))].sort().map((name) => <option key={name} value={name}>{words(name)}</option>)}
                    </select>
                    <label className="row"><input type="checkbox" checked={all === 'shown'} onChange={(event) => setAll(event.target.checked ? 'shown' : '')} />Acknowledged too{hidden > 0 && ` (${hidden})`}</label>
                  </>
                }
                columns={[
                  { id: 'severity', name: 'Severity', value: (alarm) => alarm.severity, cell: (alarm) => <Badge tone={tone(alarm.severity)}>{alarm.severity}</Badge> },
                  {
                    id: 'do', name: '', value: () => null,
                    cell: (alarm) => (
                      <span style={{ display: 'grid', justifyItems: 'start' }}>
                        {failing(alarm) && <Link to="/planning" search={{ [alarm.subject.kind === 'link' ? 'links' : 'switches']: alarm.subject.id } as never}>What if it fails</Link>}
                        <May call="POST /v1/alarms/{id}/acknowledge">{alarm.acknowledged ? <TakeBack alarm={alarm} /> : <EditButton plain label="Acknowledge" editing={acknowledge(alarm)} />}</May>
                      </span>
                    ),
                  },
                  { id: 'kind', name: 'Kind', value: (alarm) => alarm.kind, cell: (alarm) => words(alarm.kind) },
                  { id: 'text', name: 'What is wrong, and what to do', value: (alarm) => alarm.text, wrap: true },
                  { id: 'subject', name: 'About', value: (alarm) => alarm.subject.id, cell: (alarm) => <SubjectLink kind={alarm.subject.kind} id={alarm.subject.id} /> },
                  { id: 'jobs', name: 'Affects', value: (alarm) => alarm.jobs.length, cell: (alarm) => (alarm.jobs.length > 0 ? <span title={alarm.jobs.join(', ')}>{alarm.jobs.slice(0, 2).map((job, i) => <span key={job}>{i > 0 && ', '}<SubjectLink kind="job" id={job} /></span>)}{alarm.jobs.length > 2 && ` and ${alarm.jobs.length - 2} more`}</span> : <span className="dim">no job</span>) },
                  { id: 'raised', name: 'Raised', value: (alarm) => alarm.raisedAt, cell: (alarm) => <When at={alarm.raisedAt} relative /> },
                  ...(all === 'shown' ? [{ id: 'who', name: 'Looked after by', value: (alarm: Schema['Alarm']) => alarm.acknowledged?.by ?? null, cell: (alarm: Schema['Alarm']) => (alarm.acknowledged ? <>{alarm.acknowledged.by} <span className="dim">{alarm.acknowledged.note} <When at={alarm.acknowledged.at} relative /></span></> : '–') }] : []),
                ]}
              />
            );
          }}
        </Shown>
      </Panel>
    </>
  );
}
