// The fabric: its map and its inventory.
import { notifications } from '@mantine/notifications';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { changesQuery, domainsQuery, findingsQuery, linksQuery, nodesQuery, subnetsQuery, switchesQuery, type Listed } from '../../api/queries';
import { body, client, type Schema } from '../../api/client';
import { useParam } from '../../parts/params';
import { command } from '../../model/cli';
import { count, microseconds, rate, words } from '../../model/format';
import { tone } from '../../model/tones';
import { Badge, Bar, Cli, Copyable, Empty, Facts, Panel, Shown, Title, When } from '../../parts/basics';
import { May } from '../../parts/may';
import { DataTable, type Beginning, type Column } from '../../parts/table';
import { Tabs } from '../../parts/tabs';
import { MapPanel } from './map';

const beginningOf = <T,>(list: Listed<T>, of: string, ask?: (text: string) => Promise<T[]>): Beginning<T> | undefined => (list.complete ? undefined : { of, ...(ask ? { ask } : {}) });

// Links at what is called so: a switch, a node whose name contains it, or the link itself.
async function linksCalled(text: string): Promise<Schema['LinkLine'][]> {
  const none = (answer: Promise<{ items: Schema['LinkLine'][] }>) => answer.then(({ items }) => items, () => []);
  const at = (end: { switch: string } | { node: string }) => none(body(client.GET('/v1/links', { params: { query: { ...end, limit: 1000 } } })));
  if (text.includes('--')) return body(client.GET('/v1/links/{id}', { params: { path: { id: text } } })).then((link) => [link as Schema['LinkLine']], () => []);
  const nodes = await body(client.GET('/v1/nodes', { params: { query: { name: text, limit: 4 } } })).then(({ items }) => items, () => []);
  return (await Promise.all([at({ switch: text }), ...nodes.map((node) => at({ node: node.id }))])).flat();
}
const nodesCalled = (text: string) => body(client.GET('/v1/nodes', { params: { query: { name: text, limit: 1000 } } })).then(({ items }) => items);

export const linkColumns: Column<Schema['LinkLine']>[] = [
  { id: 'a', name: 'From', value: (link) => endText(link.ends[0]!), cell: (link) => <EndLink end={link.ends[0]!} /> },
  { id: 'b', name: 'To', value: (link) => endText(link.ends[1]!), cell: (link) => <EndLink end={link.ends[1]!} /> },
  { id: 'rate', name: 'Rate', value: (link) => link.rateGbps, cell: (link) => (link.seenGbps ? <>{rate(link.seenGbps)} <span className="dim">of {rate(link.rateGbps)}</span></> : rate(link.rateGbps)), num: true },
  { id: 'speed', name: 'Speed', value: (link) => `${link.speed} x${link.width}` },
  { id: 'state', name: 'State', value: (link) => (link.drained ? 'drained' : link.state), cell: (link) => <Badge tone={tone(link.drained ? 'drained' : link.state)}>{link.drained ? `drained, ${link.state}` : link.state}</Badge> },
  { id: 'id', name: 'Link', value: (link) => link.id, cell: (link) => <Copyable text={link.id}><Link to="/links/$" params={{ _splat: link.id }} className="mono">{link.id}</Link></Copyable> },
];

export function endText(end: Schema['LinkEnd']): string {
  if (end.site !== undefined || end.port === undefined) return end.site ?? '';
  const port = end.port.slice(end.port.lastIndexOf('/') + 1);
  if (end.switch !== undefined) return `${end.switch} port ${port}`;
  if (end.node !== undefined) return `${end.node}/${end.device ?? `gpu${end.gpu}`}`;
  return end.nvlinkDomain ?? end.device ?? end.port;
}

export function EndLink({ end }: { end: Schema['LinkEnd'] }) {
  if (end.switch !== undefined) return <Link to="/switches/$id" params={{ id: end.switch }}>{endText(end)}</Link>;
  if (end.node !== undefined) return <Link to="/nodes/$id" params={{ id: end.node }}>{endText(end)}</Link>;
  return <span>{endText(end)}</span>;
}

const switchColumns: Column<Schema['SwitchLine']>[] = [
  { id: 'id', name: 'Switch', value: (sw) => sw.id, cell: (sw) => <Link to="/switches/$id" params={{ id: sw.id }}>{sw.id}</Link> },
  { id: 'tier', name: 'Tier', value: (sw) => sw.tier, num: true },
  { id: 'subnet', name: 'Subnet', value: (sw) => sw.subnet },
  { id: 'rack', name: 'Rack', value: (sw) => sw.rack },
  { id: 'lid', name: 'LID', value: (sw) => sw.lid || null, num: true },
  { id: 'guid', name: 'GUID', value: (sw) => sw.guid, cell: (sw) => <Copyable text={sw.guid} /> },
  { id: 'ports', name: 'Cabled', value: (sw) => sw.cabledPorts, cell: (sw) => `${sw.cabledPorts} of ${sw.ports}`, num: true },
  { id: 'drained', name: 'State', value: (sw) => (sw.drained ? 'drained' : 'in use'), cell: (sw) => (sw.drained ? <Badge tone="drain">drained</Badge> : <span className="dim">in use</span>) },
];

// Jobs are placed on it, or why none are.
export function NodeState({ node }: { node: { state: Schema['NodeLine']['state'] } }) {
  const state: string = node.state;
  return <Badge tone={state === 'ready' ? 'ok' : state === 'drained' ? 'drain' : 'bad'}>{state === 'ready' ? 'in use' : words(state)}</Badge>;
}

const nodeColumns: Column<Schema['NodeLine']>[] = [
  { id: 'id', name: 'Node', value: (node) => node.id, cell: (node) => <Link to="/nodes/$id" params={{ id: node.id }}>{node.id}</Link> },
  { id: 'kind', name: 'Kind', value: (node) => node.kind },
  { id: 'site', name: 'Site', value: (node) => node.site },
  { id: 'rack', name: 'Rack', value: (node) => node.rack },
  { id: 'used', name: 'GPUs used', value: (node) => node.gpus - node.freeGpus, num: true, cell: (node) => (node.gpus > 0 ? `${node.gpus - node.freeGpus} of ${node.gpus}` : '–') },
  {
    id: 'bar', name: 'Use', value: (node) => (node.gpus > 0 ? (node.gpus - node.freeGpus) / node.gpus : null),
    cell: (node) => (node.gpus > 0 ? <div style={{ width: 110 }}><Bar thin label={`${node.gpus - node.freeGpus} of ${node.gpus} GPUs used`} total={node.gpus} parts={[{ value: node.gpus - node.freeGpus, color: 'var(--accent)' }]} /></div> : null),
  },
  { id: 'state', name: 'State', value: (node) => (node.state === 'ready' ? 'in use' : node.state), cell: (node) => (node.state === 'ready' ? <span className="dim">in use</span> : <NodeState node={node} />) },
];

const domainColumns: Column<Schema['NvlinkDomain']>[] = [
  { id: 'id', name: 'NVLink domain', value: (domain) => domain.id },
  { id: 'gpus', name: 'GPUs', value: (domain) => domain.gpus, num: true },
  { id: 'free', name: 'Free', value: (domain) => domain.freeGpus, num: true },
  {
    id: 'use', name: 'Use', value: (domain) => 1 - domain.freeGpus / Math.max(1, domain.gpus),
    cell: (domain) => <div style={{ width: 110 }}><Bar thin label={`${domain.gpus - domain.freeGpus} of ${domain.gpus} GPUs used`} total={domain.gpus} parts={[{ value: domain.gpus - domain.freeGpus, color: 'var(--accent)' }]} /></div>,
  },
  { id: 'rate', name: 'Per GPU', value: (domain) => domain.rateGbpsPerGpu, cell: (domain) => (domain.rateGbpsPerGpu > 0 ? rate(domain.rateGbpsPerGpu) : '–'), num: true },
  { id: 'nodes', name: 'Nodes', value: (domain) => domain.nodes.join(' '), cell: (domain) => <span title={domain.nodes.join(', ')}>{domain.nodes.length > 3 ? `${domain.nodes.slice(0, 3).join(', ')} and ${domain.nodes.length - 3} more` : domain.nodes.join(', ')}</span> },
];

// Devices in the places of others, and hosts that were moved: without service until they are accepted.
function FoundChanges({ subnet }: { subnet: string }) {
  const query = useQuery({ ...changesQuery(subnet), refetchInterval: 10_000 });
  const queries = useQueryClient();
  const accept = useMutation({
    mutationFn: (change: string) => body(client.POST('/v1/subnets/{id}/changes', { params: { path: { id: subnet } }, body: { changes: [change] } })),
    onSuccess: () => notifications.show({ message: 'Accepted: routes follow' }),
    onError: (error) => notifications.show({ message: error.message, color: 'red' }),
    onSettled: () => void queries.invalidateQueries({ queryKey: ['subnets'] }),
  });
  return (
    <details open>
      <summary>Exchanged or moved, and not accepted yet</summary>
      <Shown query={query}>
        {({ items }) => (
          <ul className="list">
            {items.map((change) => (
              <li key={change.id}>
                <Badge plain tone="warn">{words(change.kind)}</Badge>
                <span className="what">{change.text}</span>
                <May call="POST /v1/subnets/{id}/changes"><button type="button" className="link-button" disabled={accept.isPending} onClick={() => accept.mutate(change.id)}>Accept</button></May>
              </li>
            ))}
          </ul>
        )}
      </Shown>
      <Cli line={command('subnets', 'accept', subnet)} />
    </details>
  );
}

function SubnetPanel({ subnet }: { subnet: Schema['Subnet'] }) {
  const live = subnet.live;
  return (
    <Panel title={subnet.id} actions={live ? <Badge tone={tone(live.phase)}>{words(live.phase)}</Badge> : <Badge>not connected</Badge>} className={live ? 's12' : 's6'}>
      <div className="stack">
        <Facts
          items={[
            ['Mode', <>{subnet.mode}{subnet.modeReason && <span className="dim"> {subnet.modeReason}</span>}</>],
            ['Spread', <>{subnet.routing.spread}{subnet.routing.reason && <span className="dim"> {subnet.routing.reason}</span>}</>],
            ...(subnet.routeBasis
              ? ([['Routes', <>spread again without {count(subnet.routeBasis.linksLeftOut)} links and {count(subnet.routeBasis.switchesLeftOut)} switches, {count(subnet.routeBasis.hops)} next hops chosen for jobs, <When at={subnet.routeBasis.since} relative /></>]] as [string, React.ReactNode][])
              : []),
            ...(subnet.routeEngine
              ? ([['Engine', <>{subnet.routeEngine.engine} on at most {count(subnet.routeEngine.lanes)} lanes, taken <When at={subnet.routeEngine.since} relative /></>]] as [string, React.ReactNode][])
              : []),
            ['Cabled', `${count(subnet.switches)} switches, ${count(subnet.hostPorts)} node ports`],
            ...(live
              ? ([
                  ['Links', <>{!live.unseen && <>{count(live.linksUp)} up, {live.linksDown > 0 ? <Badge tone="bad">{live.linksDown} down</Badge> : '0 down'}{live.linksDamped > 0 && <>, <Badge tone="warn">{live.linksDamped} held</Badge></>}</>}{live.linksUnknown > 0 && <>{!live.unseen && ', '}<Badge>{live.linksUnknown} unknown</Badge></>}</>],
                  ['Tables', live.unseen ? 'not known' : live.sync.blocksWanted > 0 ? <>{count(live.sync.blocksWanted - live.sync.blocksDiffering)} of {count(live.sync.blocksWanted)} blocks as wanted, read back <When at={live.sync.readBackAt} relative /></> : 'not programmed from here'],
                  [live.unseen ? 'Last seen' : 'Discovered', <><When at={live.discoveredAt} relative />, in {microseconds(live.discoveryTookUs)} through {live.port}</>],
                  ['Does not answer', live.isolatedCount > 0 ? live.isolated.map((device) => device.name || device.guid).join(', ') : 'none'],
                  ['Counters not read', live.countersUnreadCount > 0 ? <Badge tone="warn">{live.countersUnread.map((device) => device.name || device.guid).join(', ')}</Badge> : 'none'],
                  ...(live.qos && live.qos.portsChanged > 0 ? [['Changed by another program', <Badge key="changed" tone="bad">{live.qos.portsChanged} ports</Badge>] as [string, React.ReactNode]] : []),
                ] as [string, React.ReactNode][])
              : []),
          ]}
        />
        {live?.problem && <div className="problem warn">{live.problem}</div>}
        {live && live.flapping.length > 0 && (
          <details open>
            <summary>{count(live.flapping.length)} links flap; {count(live.linksDamped)} held out of use, pairs lost by it: {count(live.pairsLostByHeld)}</summary>
            <ul className="list">{live.flapping.map((link) => <li key={link.link}><Badge tone={link.held ? 'warn' : 'none'}>{link.held ? 'held' : link.up ? 'used' : 'down'}</Badge><span className="what"><Link to="/links/$" params={{ _splat: link.link }}>{link.name}</Link> <span className="dim">{link.flaps} times, calm <When at={link.until} relative /></span></span></li>)}</ul>
          </details>
        )}
        {live && live.changes > 0 && <FoundChanges subnet={subnet.id} />}
        {live && live.differenceCount > 0 && (
          <details>
            <summary>{count(live.differenceCount)} differences from the accepted cabling</summary>
            <ul className="list">{live.differences.map((difference, i) => <li key={i}><Badge plain>{words(difference.kind)}</Badge><span className="what">{difference.text}</span></li>)}</ul>
          </details>
        )}
        {live && live.repairs.length > 0 && (
          <details open>
            <summary>Latest programming ({count(live.repairsTotal)} since the start)</summary>
            <div className="table-box" tabIndex={0} role="region" aria-label="Latest programming">
            <table className="data">
              <thead><tr><th>When</th><th>Cause</th><th className="num">Entries</th><th className="num">Blocks</th><th className="num">Computed</th><th className="num">Programmed</th><th className="num">Unreachable</th></tr></thead>
              <tbody>
                {live.repairs.slice(0, 8).map((repair, i) => (
                  <tr key={i}>
                    <td><When at={repair.at} /></td><td>{repair.cause}</td><td className="num">{count(repair.changedEntries)}</td><td className="num">{count(repair.blocks)}</td>
                    <td className="num">{microseconds(repair.computedUs)}</td><td className="num">{microseconds(repair.programmedUs)}</td><td className="num">{repair.unreachablePairs ?? '–'}</td>
                  </tr>
                ))}
              </tbody>
            </table>
            </div>
          </details>
        )}
        <Cli line={command('subnets', 'show', subnet.id)} />
      </div>
    </Panel>
  );
}

function Switches() {
  const query = useQuery(switchesQuery());
  return <Panel title="Switches" flush actions={<Cli line={command('switches', 'list')} />}><Shown query={query}>{(list) => <DataTable name="switches" rows={list.items} columns={switchColumns} rowKey={(sw) => sw.guid + sw.id} beginning={beginningOf(list, 'switches')} />}</Shown></Panel>;
}
function Nodes() {
  const query = useQuery(nodesQuery());
  return <Panel title="Nodes" flush actions={<Cli line={command('nodes', 'list')} />}><Shown query={query}>{(list) => <DataTable name="nodes" rows={list.items} columns={nodeColumns} rowKey={(node) => node.id} beginning={beginningOf(list, 'nodes', nodesCalled)} />}</Shown></Panel>;
}
function Links() {
  const query = useQuery(linksQuery());
  return <Panel title="Links" flush actions={<Cli line={command('links', 'list')} />}><Shown query={query}>{(list) => <DataTable name="links" rows={list.items} columns={linkColumns} rowKey={(link) => link.id} beginning={beginningOf(list, 'links', linksCalled)} />}</Shown></Panel>;
}
function Domains() {
  const query = useQuery(domainsQuery());
  return <Panel title="NVLink domains" flush actions={<Cli line={command('nvlink-domains', 'list')} />}><Shown query={query}>{(list) => <DataTable name="domains" rows={list.items} columns={domainColumns} rowKey={(domain) => domain.id} beginning={beginningOf(list, 'NVLink domains')} />}</Shown></Panel>;
}
function Subnets() {
  const query = useQuery({ ...subnetsQuery(), refetchInterval: 10_000 });
  return <Shown query={query}>{({ items }) => (items.length === 0 ? <Empty title="No subnet is known" /> : <div className="grid">{items.map((subnet) => <SubnetPanel key={subnet.id} subnet={subnet} />)}</div>)}</Shown>;
}
// What was found beside what was accepted, of all live subnets.
function Differences() {
  const query = useQuery({ ...subnetsQuery(), refetchInterval: 10_000 });
  return (
    <Panel title="Differences from the accepted cabling" flush actions={<Cli line={command('fabric', 'sync')} />}>
      <Shown query={query}>
        {({ items }) => {
          const live = items.filter((subnet) => subnet.live);
          const rows = live.flatMap((subnet) => subnet.live!.differences.map((difference) => ({ subnet: subnet.id, ...difference })));
          const more = live.reduce((sum, subnet) => sum + subnet.live!.differenceCount, 0) - rows.length;
          return (
            <DataTable
              name="differences"
              rows={rows}
              rowKey={(row) => `${row.subnet} ${row.kind} ${row.subject}`}
              note={more > 0 ? ` (the first; ${count(more)} more)` : undefined}
              empty={<Empty title={live.length === 0 ? 'No subnet is live: what is cabled is not seen' : 'It is cabled as it was accepted'}>{live.length > 0 && <p>Where something differs, <code>railweave fabric discover --accept</code> accepts it as it is.</p>}</Empty>}
              columns={[
                { id: 'subnet', name: 'Subnet', value: (row) => row.subnet },
                { id: 'kind', name: 'Kind', value: (row) => row.kind, cell: (row) => <Badge plain tone={row.kind.startsWith('missing') ? 'bad' : 'warn'}>{words(row.kind)}</Badge> },
                { id: 'subject', name: 'About', value: (row) => row.subject, cell: (row) => <Copyable text={row.subject} /> },
                { id: 'text', name: 'What', value: (row) => row.text, wrap: true },
              ]}
            />
          );
        }}
      </Shown>
    </Panel>
  );
}

function Findings() {
  const query = useQuery(findingsQuery());
  return (
    <Panel title="Findings about the cabling" flush actions={<Cli line={command('fabric', 'check')} />}>
      <Shown query={query}>
        {({ findings }) => (
          <DataTable
            name="findings"
            rows={findings}
            rowKey={(finding) => finding.code + finding.message}
            empty={<Empty title="Nothing is wrong or odd with the cabling" />}
            columns={[
              { id: 'severity', name: 'Severity', value: (finding) => finding.severity, cell: (finding) => <Badge tone={tone(finding.severity)}>{finding.severity}</Badge> },
              { id: 'code', name: 'Kind', value: (finding) => words(finding.code) },
              { id: 'message', name: 'What', value: (finding) => finding.message, wrap: true },
              { id: 'objects', name: 'About', value: (finding) => finding.objects.join(' '), cell: (finding) => <span title={finding.objects.join(', ')}>{finding.objects.slice(0, 3).join(', ')}{finding.objects.length > 3 && ` and ${finding.objects.length - 3} more`}</span> },
            ]}
          />
        )}
      </Shown>
    </Panel>
  );
}

export function Fabric() {
  const [at] = useParam('view', 'map');
  return (
    <>
      <Title actions={<Cli line={command('fabric', 'show')} />}>Fabric</Title>
      <Tabs name="view" tabs={[['map', 'Map'], ['switches', 'Switches'], ['nodes', 'Nodes'], ['links', 'Links'], ['domains', 'NVLink domains'], ['subnets', 'Subnets'], ['differences', 'Differences'], ['findings', 'Findings']]} />
      {at === 'switches' ? <Switches /> : at === 'nodes' ? <Nodes /> : at === 'links' ? <Links /> : at === 'domains' ? <Domains /> : at === 'subnets' ? <Subnets /> : at === 'differences' ? <Differences /> : at === 'findings' ? <Findings /> : <MapPanel />}
    </>
  );
}
