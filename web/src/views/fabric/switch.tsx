// A switch: its ports as they are on its front, what hangs on them, its forwarding table.
import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { useMemo } from 'react';
import { alarmsQuery, linksAtQuery, switchHistoryQuery, switchQuery, tableQuery } from '../../api/queries';
import type { Schema } from '../../api/client';
import { useParam } from '../../parts/params';
import { command } from '../../model/cli';
import { percent, rate, words } from '../../model/format';
import { about, errorsOf, sumOfPorts, summaryOf, type CounterHistory } from '../../model/plots/history';
import { Badge, Cli, Copyable, Empty, Facts, Panel, Shown, Title } from '../../parts/basics';
import { May } from '../../parts/may';
import { Plot } from '../../parts/plot';
import { RowSpark } from '../../parts/spark';
import { DataTable } from '../../parts/table';
import { Tabs } from '../../parts/tabs';
import { AlarmList, DrainState } from './about';
import { EndLink, endText, linkColumns } from './fabric';
import { DetailChoice, useDetail } from './link';

function Ports({ device, links }: { device: Schema['Switch']; links: Schema['LinkLine'][] }) {
  const byId = new Map(links.map((link) => [link.id, link]));
  return (
    <div className="ports" role="list" aria-label="Ports">
      {device.portList.map((port) => {
        const link = port.link ? byId.get(port.link) : undefined;
        const state = link ? (link.drained ? 'drain' : link.state) : '';
        const what = port.peer ? `Port ${port.number}: ${endText(port.peer)}, ${rate(port.rateGbps ?? 0)}, ${link ? (link.drained ? `drained, ${link.state}` : link.state) : ''}` : `Port ${port.number}: no cable`;
        return (
          <span role="listitem" key={port.id} style={{ display: 'contents' }}>
            {port.link ? (
              <Link to="/links/$" params={{ _splat: port.link }} className={`port ${state}`} title={what} aria-label={what}>{port.number}</Link>
            ) : (
              <span className="port" title={what}>{port.number}</span>
            )}
          </span>
        );
      })}
    </div>
  );
}

function Table({ id }: { id: string }) {
  const query = useQuery(tableQuery(id));
  return (
    <Panel title="Forwarding table" flush actions={<Cli line={command('switches', 'table', id)} />}>
      <Shown query={query}>
        {({ items }) => (
          <DataTable
            name="table"
            rows={items}
            rowKey={(entry) => String(entry.lid)}
            empty={<Empty title="No tables are computed for this switch" />}
            columns={[
              { id: 'lid', name: 'LID', value: (entry) => entry.lid, num: true },
              { id: 'destination', name: 'Destination', value: (entry) => entry.destination.device },
              { id: 'kind', name: 'Kind', value: (entry) => entry.destination.kind },
              { id: 'wanted', name: 'Wanted port', value: (entry) => entry.wantedPort, num: true },
              { id: 'to', name: 'Behind it', value: (entry) => entry.wantedTo },
              { id: 'applied', name: 'Applied port', value: (entry) => entry.appliedPort, num: true },
              { id: 'differs', name: 'State', value: (entry) => (entry.differs === null ? 'not known' : entry.differs ? 'differs' : 'as wanted'), cell: (entry) => (entry.differs === null ? <span className="dim">not known</span> : entry.differs ? <Badge tone="bad">differs</Badge> : <Badge tone="ok">as wanted</Badge>) },
            ]}
          />
        )}
      </Shown>
    </Panel>
  );
}

// What its ports carried and counted: the fullest, or those with errors, first by a click on the heading.
function PortHistory({ id }: { id: string }) {
  const query = useQuery(switchHistoryQuery(id, useDetail()));
  return (
    <div className="stack">
    {query.data && query.data.ports.length > 0 && <AllPorts history={query.data} />}
    <Panel title="What its ports carried and counted" flush actions={<><DetailChoice history={query.data} /><Cli line={command('switches', 'history', id)} /></>}>
      <Shown query={query}>
        {(history) => (
          <DataTable
            name="history"
            rows={history.ports.map((port) => ({ ...port, ...summaryOf(port), counted: errorsOf(port) }))}
            rowKey={(port) => port.port}
            empty={<Empty title="Its counters are not read"><p>Counters are read of live subnets, and shown after two readings.</p></Empty>}
            columns={[
              { id: 'port', name: 'Port', value: (port) => Number(port.port.split('/').at(-1)), num: true },
              { id: 'name', name: 'Name', value: (port) => port.portName, cell: (port) => <Link to="/links/$" params={{ _splat: port.link }}>{port.portName}</Link> },
              { id: 'load', name: 'Sent', value: (port) => port.average, cell: (port) => <RowSpark values={port.load} most={1} label={port.average === null ? 'not read' : `${percent(port.average)} of its rate in the mean`} /> },
              { id: 'average', name: 'Mean', value: (port) => port.average, cell: (port) => (port.average === null ? '–' : percent(port.average)), num: true },
              { id: 'peak', name: 'Peak', value: (port) => port.peak, cell: (port) => (port.peak === null ? '–' : percent(port.peak)), num: true },
              { id: 'waiting', name: 'Waiting', value: (port) => port.waiting, cell: (port) => (port.waiting === null ? '–' : percent(port.waiting)), num: true },
              { id: 'errors', name: 'Errors', value: (port) => port.errors, cell: (port) => (port.errors === 0 ? '0' : <Badge tone="warn">{about(port.errors)}</Badge>), num: true },
              { id: 'counted', name: 'When', value: (port) => port.errors, cell: (port) => (port.errors === 0 ? null : <RowSpark values={port.counted} most={Math.max(...port.counted.map((value) => value ?? 0))} label={`${about(port.errors)} errors`} color="var(--bad)" />) },
              { id: 'kinds', name: 'Kinds', value: (port) => port.kinds.map(([kind, sum]) => `${words(kind)} ${about(sum)}`).join(', ') },
            ]}
          />
        )}
      </Shown>
    </Panel>
    </div>
  );
}

// All ports of it in one: how full they are, and what they counted.
function AllPorts({ history }: { history: CounterHistory }) {
  const { fullest, mean, errors } = useMemo(() => sumOfPorts(history), [history]);
  return (
    <Panel title="All of its ports">
      <div className="two-plots">
        <Plot label="Utilisation of ports" lines={[{ name: 'Fullest', color: 'var(--accent)', series: fullest }, { name: 'Mean', color: 'var(--ok)', series: mean }]} format={percent} most={1} />
        <Plot label="Errors" lines={[{ name: 'In a slot', color: 'var(--bad)', series: errors }]} format={about} whole />
      </div>
    </Panel>
  );
}

export function SwitchView() {
  const { id } = useParams({ strict: false }) as { id: string };
  const [tab] = useParam('tab', 'ports');
  const query = useQuery(switchQuery(id));
  const links = useQuery(linksAtQuery({ switch: id }));
  const alarms = useQuery(alarmsQuery());
  return (
    <Shown query={query}>
      {(device) => {
        const down = (links.data?.items ?? []).filter((link) => link.state === 'down').length;
        const unknown = (links.data?.items ?? []).filter((link) => link.state === 'unknown').length;
        const own = (alarms.data?.items ?? []).filter((alarm) => alarm.subject.id === device.id || alarm.subject.id === device.guid || alarm.subject.id.includes(`${device.guid}/`));
        return (
          <>
            <Title
              badge={device.drained ? <Badge tone="drain">drained</Badge> : down > 0 ? <Badge tone="bad">{down} links down</Badge> : unknown > 0 ? <Badge>{unknown} links unknown</Badge> : <Badge tone="ok">in use</Badge>}
              actions={<><Cli line={command('switches', 'show', device.id)} /><May call="POST /v1/switches/{id}/drain"><Link to="/drain" search={{ kind: 'switch', id: device.id } as never}>Drain</Link></May></>}
            >
              {device.id}
            </Title>
            <Tabs name="tab" tabs={[['ports', 'Ports'], ['links', 'Links'], ['history', 'Load and errors'], ['table', 'Forwarding table']]} />
            {tab === 'history' ? (
              <PortHistory id={id} />
            ) : tab === 'table' ? (
              <Table id={id} />
            ) : tab === 'links' ? (
              <Panel title="Links" flush><Shown query={links}>{(list) => <DataTable name="links" rows={list.items} columns={linkColumns} rowKey={(link) => link.id} />}</Shown></Panel>
            ) : (
              <div className="grid">
                <Panel title="Switch" className="s4">
                  <Facts
                    items={[
                      ['GUID', <Copyable key="guid" text={device.guid} />],
                      ['LID', device.lid || '–'],
                      ['Tier', device.tier === null ? 'reaches no node' : device.tier === 0 ? '0, a leaf' : device.tier],
                      ['Subnet', device.subnet ?? '–'],
                      ['Rack', device.rack ?? '–'],
                      ['On the wire', device.description || '–'],
                      ['Cabled ports', `${device.cabledPorts} of ${device.ports}`],
                    ]}
                  />
                  <DrainState drain={device.drain} kind="switch" id={device.id} />
                </Panel>
                <div className="s8 stack">
                  <Panel title="Ports"><Ports device={device} links={links.data?.items ?? []} /></Panel>
                  <AlarmList alarms={own} />
                  <Panel title="Cabling" flush>
                    <DataTable
                      name="ports"
                      rows={device.portList.filter((port) => port.peer)}
                      height={420}
                      rowKey={(port) => port.id}
                      empty={<Empty title="No cable is plugged in" />}
                      columns={[
                        { id: 'number', name: 'Port', value: (port) => port.number, num: true },
                        { id: 'peer', name: 'Peer', value: (port) => endText(port.peer!), cell: (port) => <EndLink end={port.peer!} /> },
                        { id: 'rate', name: 'Rate', value: (port) => port.rateGbps ?? 0, cell: (port) => rate(port.rateGbps ?? 0), num: true },
                        { id: 'link', name: 'Link', value: (port) => port.link, cell: (port) => (port.link ? <Link className="mono" to="/links/$" params={{ _splat: port.link }}>{port.link}</Link> : null) },
                      ]}
                    />
                  </Panel>
                </div>
              </div>
            )}
          </>
        );
      }}
    </Shown>
  );
}
