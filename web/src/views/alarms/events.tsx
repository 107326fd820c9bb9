// What happened, and what happens: the last thousand events, with new ones on top as they come.
import type { FabricEvent } from '../../api/events';
import { useLive } from '../../api/events';
import { useDeviceNames } from '../../api/names';
import { useRecent } from '../../api/recent';
import { useParam } from '../../parts/params';
import { command } from '../../model/cli';
import { words } from '../../model/format';
import { linkNamed } from '../../model/names';
import { tone } from '../../model/tones';
import { Badge, Cli, Empty, Panel, Shown, SubjectLink, Title, When } from '../../parts/basics';
import { Said } from '../../parts/said';
import { DataTable, type Column } from '../../parts/table';

// Links by the names of their devices.
function Subject({ event: { subject } }: { event: FabricEvent }) {
  const devices = useDeviceNames();
  const link = subject.kind === 'link' || subject.id.includes('--');
  return <SubjectLink kind={subject.kind} id={subject.id} name={link ? linkNamed(subject.id, devices) : subject.id} />;
}

export const eventColumns: Column<FabricEvent>[] = [
  { id: 'seq', name: 'Seq', value: (event) => event.seq, num: true },
  { id: 'time', name: 'Time', value: (event) => event.time, cell: (event) => <When at={event.time} /> },
  { id: 'severity', name: 'Severity', value: (event) => event.severity, cell: (event) => (event.severity === 'info' ? <span className="dim">info</span> : <Badge tone={tone(event.severity)}>{event.severity}</Badge>) },
  { id: 'type', name: 'Type', value: (event) => event.type, cell: (event) => words(event.type) },
  { id: 'subject', name: 'About', value: (event) => `${event.subject.kind}/${event.subject.id}`, cell: (event) => <Subject event={event} /> },
  { id: 'summary', name: 'What', value: (event) => event.summary, wrap: true, cell: (event) => <Said message={event.message} text={event.summary} /> },
  { id: 'actor', name: 'By', value: (event) => event.actor },
];

export function Events() {
  const [type, setType] = useParam('type');
  const [span, setSpan] = useParam('last', '1000');
  const live = useLive();
  const query = useRecent(Number(span) || 1000);
  const rows = query.data ?? [];
  const types = [...new Set(rows.map((event) => event.type))].sort();
  return (
    <>
      <Title badge={live.state === 'live' ? <Badge tone="ok">live</Badge> : <Badge tone="bad">{words(live.state)}</Badge>} actions={<Cli line={command('events', '--follow', type && '--type', type)} />}>Events</Title>
      <Panel title="What happened" flush>
        <Shown query={query}>
          {() => (
            <DataTable
              name="events"
              rows={type ? rows.filter((event) => event.type === type) : rows}
              columns={eventColumns}
              rowKey={(event) => String(event.seq)}
              empty={<Empty title={type ? `No ${words(type)} among the last ${span}` : 'Nothing happened yet'} />}
              filters={
                <>
                  <select className="select" aria-label="Type" value={type} onChange={(event) => setType(event.target.value)}>
                    <option value="">Any type</option>
                    {[...new Set([...types, ...(type ? [type] : [])])].map((name) => <option key={name} value={name}>{words(name)}</option>)}
                  </select>
                  <select className="select" aria-label="How many" value={span} onChange={(event) => setSpan(event.target.value)}>
                    <option value="1000">Last 1,000</option>
                    <option value="5000">Last 5,000</option>
                    <option value="10000">Last 10,000</option>
                  </select>
                </>
              }
            />
          )}
        </Shown>
      </Panel>
    </>
  );
}
