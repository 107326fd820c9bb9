// The route between two ports, hop by hop, with lanes; and what the tables do as a whole.
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { auditQuery, nodesQuery, pathQuery, routesQuery } from '../../api/queries';
import { isVerified, type Schema } from '../../api/client';
import { useParam } from '../../parts/params';
import { command } from '../../model/cli';
import { count, rate, words } from '../../model/format';
import { Badge, Cli, Empty, Facts, Panel, Shown, Title } from '../../parts/basics';

function PathLine({ path }: { path: Schema['Paths']['paths'][number] }) {
  return (
    <div className="stack" style={{ padding: '10px 12px', borderBottom: '1px solid var(--line)' }}>
      <div className="row">
        <b>{path.rail ?? 'no rail'}</b>
        <Badge tone={path.outcome === 'arrived' ? 'ok' : 'bad'}>{words(path.outcome)}</Badge>
        <span className="dim">service level {path.serviceLevel}, {path.hops.length} links{path.hops.length > 0 && `, ${rate(Math.min(...path.hops.map((hop) => hop.rateGbps)))}`}</span>
      </div>
      <div className="hops">
        {path.hops.map((hop, i) => (
          <div className="hop" key={i}>
            <span className="device">{hop.from}</span>
            <Link className="wire" to="/links/$" params={{ _splat: hop.link }} title={`${hop.link}, ${rate(hop.rateGbps)}, lane ${hop.lane}`}>
              {hop.outPort} → {hop.inPort}, VL {hop.lane}
            </Link>
            {i === path.hops.length - 1 && <span className="device">{hop.to}</span>}
          </div>
        ))}
      </div>
    </div>
  );
}

export function PathView() {
  const [from, setFrom] = useParam('from');
  const [to, setTo] = useParam('to');
  const [typedFrom, typeFrom] = useState(from);
  const [typedTo, typeTo] = useState(to);
  useEffect(() => typeFrom(from), [from]);
  useEffect(() => typeTo(to), [to]);
  const nodes = useQuery(nodesQuery());
  const paths = useQuery({ ...pathQuery(from, to), enabled: from !== '' && to !== '' });
  const routes = useQuery(routesQuery());
  const audit = useQuery(auditQuery());
  const suggestions = (nodes.data?.items ?? []).slice(0, 500);
  return (
    <>
      <Title actions={<Cli line={from && to ? command('routes', 'path', from, to) : command('routes', 'show')} />}>Paths and routes</Title>
      <div className="stack">
        <Panel
          title="The route between two ports"
          flush
          actions={
            <form className="row" onSubmit={(event) => { event.preventDefault(); setFrom(typedFrom.trim()); setTimeout(() => setTo(typedTo.trim())); }}>
              <input className="filter" list="nodes" aria-label="From" placeholder="From: node, node/device, lid:12" value={typedFrom} onChange={(event) => typeFrom(event.target.value)} />
              <input className="filter" list="nodes" aria-label="To" placeholder="To" value={typedTo} onChange={(event) => typeTo(event.target.value)} />
              <button type="submit" className="link-button">Show</button>
              <datalist id="nodes">{suggestions.map((node) => <option key={node.id} value={node.id} />)}</datalist>
            </form>
          }
        >
          {from && to ? (
            <Shown query={paths}>{(data) => <>{data.paths.map((path) => <PathLine key={path.fromPort + path.toPort} path={path} />)}</>}</Shown>
          ) : (
            <Empty title="Name two ends"><p>A node, an adapter as node/device, a port by GUID, or lid:12.</p></Empty>
          )}
        </Panel>
        <div className="grid">
          <Panel title="Tables" className="s6" actions={<Cli line={command('routes', 'show')} />}>
            <Shown query={routes}>
              {(data) => (
                <Facts
                  items={[
                    ['Engine', `${data.engine}: ${data.engineReason}`],
                    ['Switches, end ports', `${count(data.switches)}, ${count(data.endPorts)}`],
                    ['Lanes', data.lanesUsed],
                    ['Planes', data.planes.map((plane) => `${plane.subnet} (${plane.switches} switches, ${plane.endPorts} ports)`).join(', ')],
                  ]}
                />
              )}
            </Shown>
          </Panel>
          <Panel title="Audit over every pair" className="s6" actions={<Cli line={command('routes', 'audit')} />}>
            <Shown query={audit}>
              {(data) => (
                <Facts
                  items={[
                    ['Verdict', isVerified(data) ? <Badge key="v" tone="ok">verified</Badge> : <Badge key="v" tone="bad">not verified</Badge>],
                    ['Pairs', `${count(data.pairs)}, ${count(data.unreachablePairs)} unreachable, ${count(data.loopingPairs)} loop`],
                    ['Credit cycles', data.creditLoops],
                    ['Longest route', `${data.longestRoute} links between switches`],
                    ['Fullest link', data.maxLink ? <><Link key="l" to="/links/$" params={{ _splat: data.maxLink.link }}>{data.maxLink.from} to {data.maxLink.to}</Link>, {count(data.maxLinkLoad)} pairs</> : '–'],
                    ['Shift load', `${data.worstShiftLoad} at worst, ${data.meanShiftLoad.toFixed(2)} on average`],
                  ]}
                />
              )}
            </Shown>
          </Panel>
        </div>
      </div>
    </>
  );
}
