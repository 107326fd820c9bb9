// What is wrong now, and who looks after it: acknowledging is for everybody.
import { useQuery } from '@tanstack/react-query';
import type { Schema } from '../../api/client';
import { alarmsQuery } from '../../api/queries';
import { useParam } from '../../parts/params';
import { command } from '../../model/cli';
import { words } from '../../model/format';
import { tone } from '../../model/tones';
import { AlarmActions } from '../../parts/alarm_actions';
import { Badge, Cli, Empty, Panel, Shown, SubjectLink, Title, When } from '../../parts/basics';
import { Said } from '../../parts/said';
import { DataTable } from '../../parts/table';

export function Alarms() {
  const query = useQuery(alarmsQuery());
  const [severity, setSeverity] = useParam('severity');
  const [kind, setKind] = useParam('kind');
  const [all, setAll] = useParam('acknowledged');
  return (
    <>
      <Title actions={<Cli line={command('alarms')} />}>Alarms</Title>
      <Panel title="What is wrong now" flush>
        <Shown query={query}>
          {({ items }) => {
            const rows = items
              .filter((alarm) => alarm.muted === null)
              .filter((alarm) => (!severity || alarm.severity === severity) && (!kind || alarm.kind === kind) && (all === 'shown' || alarm.acknowledged === null))
              .sort((a, b) => Number(b.severity === 'critical') - Number(a.severity === 'critical') || b.raisedAt.localeCompare(a.raisedAt));
            const hidden = items.filter((alarm) => alarm.acknowledged !== null && alarm.muted === null).length;
            const muted = items.length - items.filter((alarm) => alarm.muted === null).length;
            return (
              <DataTable
                name="alarms"
                rows={rows}
                rowKey={(alarm) => alarm.id}
                empty={<Empty title={hidden + muted > 0 ? `Nothing else is wrong; ${[hidden > 0 && `${hidden} acknowledged`, muted > 0 && `${muted} muted`].filter(Boolean).join(', ')}` : 'Nothing is wrong'} />}
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
                  { id: 'kind', name: 'Kind', value: (alarm) => alarm.kind, cell: (alarm) => words(alarm.kind) },
                  { id: 'text', name: 'What is wrong, and what to do', value: (alarm) => alarm.text, wrap: true, cell: (alarm) => <><Said message={alarm.message} text={alarm.text} names={{ [alarm.subject.id]: alarm.subject.name }} /><div><AlarmActions alarm={alarm} /></div></> },
                  { id: 'subject', name: 'About', value: (alarm) => alarm.subject.name, cell: (alarm) => <SubjectLink kind={alarm.subject.kind} id={alarm.subject.id} name={alarm.subject.name} /> },
                  { id: 'jobs', name: 'Affects', value: (alarm) => alarm.jobs.length, cell: (alarm) => (alarm.jobs.length > 0 ? <span title={alarm.jobs.join(', ')}>{alarm.jobs.slice(0, 2).map((job, i) => <span key={job}>{i > 0 && ', '}<SubjectLink kind="job" id={job} /></span>)}{alarm.jobs.length > 2 && ` and ${alarm.jobs.length - 2} more`}</span> : <span className="dim">no job</span>) },
                  { id: 'raised', name: 'Raised', value: (alarm) => alarm.raisedAt, cell: (alarm) => <When at={alarm.raisedAt} relative /> },
                  ...(all === 'shown' ? [{ id: 'who', name: 'Looked after by', value: (alarm: Schema['Alarm']) => alarm.acknowledged?.by ?? null, cell: (alarm: Schema['Alarm']) => (alarm.acknowledged ? <>{alarm.acknowledged.by} <span className="dim">{alarm.acknowledged.note} <When at={alarm.acknowledged.at} relative /></span></> : '–') }] : []),
                ]}
              />
            );
          }}
        </Shown>
      </Panel>
      <Muted alarms={(query.data?.items ?? []).filter((alarm) => alarm.muted !== null)} />
    </>
  );
}

// Apart from the others, until when: what is muted is not forgotten.
function Muted({ alarms }: { alarms: Schema['Alarm'][] }) {
  if (alarms.length === 0) return null;
  return (
    <Panel title="Muted, and back by themselves" flush className="after" actions={<Cli line={command('alarms', '--muted')} />}>
      <div data-testid="muted">
        <DataTable
          name="muted"
          tools={false}
          rows={[...alarms].sort((a, b) => a.muted!.until.localeCompare(b.muted!.until))}
          rowKey={(alarm) => alarm.id}
          columns={[
            { id: 'severity', name: 'Severity', value: (alarm) => alarm.severity, cell: (alarm) => <Badge tone={tone(alarm.severity)}>{alarm.severity}</Badge> },
            { id: 'until', name: 'Until', value: (alarm) => alarm.muted!.until, cell: (alarm) => <><When at={alarm.muted!.until} /> <span className="dim">(<When at={alarm.muted!.until} relative />)</span></> },
            { id: 'by', name: 'By', value: (alarm) => alarm.muted!.by },
            { id: 'why', name: 'Why', value: (alarm) => alarm.muted!.note || null, wrap: true },
            { id: 'text', name: 'What is wrong', value: (alarm) => alarm.text, wrap: true, cell: (alarm) => <><Said message={alarm.message} text={alarm.text} names={{ [alarm.subject.id]: alarm.subject.name }} /><div><AlarmActions alarm={alarm} /></div></> },
          ]}
        />
      </div>
    </Panel>
  );
}
