// A link: its two ends, what they carried and counted, what is reserved of it, what happened to it.
import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { Link, useParams } from '@tanstack/react-router';
import { guaranteedLinksQuery, linkHistoryQuery, linkQuery, linkTrafficQuery, type Detail } from '../../api/queries';
import type { Schema } from '../../api/client';
import { useRecent } from '../../api/recent';
import { useParam } from '../../parts/params';
import { command } from '../../model/cli';
import { bytes, count, percent, rate } from '../../model/format';
import { about, errorsOf, lineOf, reachText, type CounterHistory } from '../../model/plots/history';
import { tone } from '../../model/tones';
import { Badge, Bar, Cli, Copyable, Empty, Facts, Figure, Panel, Shown, SubjectLink, Title, When } from '../../parts/basics';
import { May } from '../../parts/may';
import { Said } from '../../parts/said';
import { Plot } from '../../parts/plot';
import { AlarmList, DrainState } from './about';
import { EndLink } from './fabric';
import { undirected } from './map';

const perHour = (rate_: number | undefined) => (rate_ === undefined || rate_ === 0 ? '' : `, ${rate_ < 10 ? rate_ : count(Math.round(rate_))} an hour`);

// One end: what it sends over time, with what the other end sends to it, and its errors.
function Counters({ link, end, history }: { link: Schema['Link']; end: 0 | 1; history: CounterHistory | undefined }) {
  const at = link.ends[end]!;
  const counters = link.counters[end] ?? null;
  const port = (which: number) => history?.ports.find((one) => one.port === link.ends[which]!.port);
  const own = port(end);
  const other = port(1 - end);
  const lines = useMemo(
    () => history && { sent: lineOf(history, own?.load, link.rateGbps), peak: lineOf(history, own?.peak, link.rateGbps), received: lineOf(history, other?.load, link.rateGbps), errors: lineOf(history, own && errorsOf(own)) },
    [history, own, other, link.rateGbps],
  );
  if (!counters) return <Panel title={<EndLink end={at} />} className="s6"><Empty title="Its counters are not read"><p>Counters are read of live subnets.</p></Empty></Panel>;
  const rates = counters.errorsPerHour;
  return (
    <Panel title={<EndLink end={at} />} className="s6" actions={<span className="dim">read <When at={counters.readAt} relative /></span>}>
      <div className="stack" data-testid="counters">
        {lines && (
          <>
            <Plot label="Load" lines={[{ name: 'Sent', color: 'var(--accent)', series: lines.sent }, { name: 'Received', color: 'var(--ok)', series: lines.received }]} format={rate} most={link.rateGbps} />
            <Plot label="Errors" lines={[{ name: 'In a slot', color: 'var(--bad)', series: lines.errors }]} format={about} whole height={100} />
          </>
        )}
        <Facts
          items={[
            ['Sent', `${bytes(counters.sentBytes)} in ${count(counters.sentPackets)} packets`],
            ['Received', `${bytes(counters.receivedBytes)} in ${count(counters.receivedPackets)} packets`],
            ['Symbol errors', count(counters.symbolErrors) + perHour(rates?.symbolErrors)],
            ['Receive errors', count(counters.receiveErrors) + perHour(rates?.receiveErrors)],
            ['Discards', count(counters.discards) + perHour(rates?.discards)],
            ['Recoveries', count(counters.linkRecoveries) + perHour(rates?.linkRecoveries)],
            ['Times down', count(counters.linkDowned) + perHour(rates?.linkDowned)],
            ['Utilisation', `${counters.utilisation === null ? '–' : percent(counters.utilisation)} now, ${counters.peakUtilisation === null ? '–' : percent(counters.peakUtilisation)} at most`],
          ]}
        />
      </div>
    </Panel>
  );
}

// How far back lines reach, chosen in the URL.
export function DetailChoice({ history }: { history: CounterHistory | undefined }) {
  const [detail, setDetail] = useParam('detail', 'fine');
  return (
    <label className="row">
      <span className="dim">{history ? reachText(history) : ''}</span>
      <select className="select" aria-label="History" value={detail} onChange={(event) => setDetail(event.target.value)}>
        <option value="fine">Recent</option>
        <option value="coarse">Longer ago</option>
      </select>
    </label>
  );
}
export const useDetail = (): Detail => (useParam('detail', 'fine')[0] === 'coarse' ? 'coarse' : 'fine');

function Devices({ what, ports }: { what: string; ports: Schema['CrossingPorts'] }) {
  return (
    <details>
      <summary>{what}: {count(ports.count)} ports of {count(ports.deviceCount)} devices</summary>
      <p className="break">{ports.devices.map((item, i) => <span key={item.device}>{i > 0 && ', '}{item.device.includes('/') ? item.device : <Link to="/nodes/$id" params={{ id: item.device }}>{item.device}</Link>}{item.ports > 1 && <span className="dim"> ({item.ports})</span>}</span>)}{ports.deviceCount > ports.devices.length && ` and ${count(ports.deviceCount - ports.devices.length)} more`}</p>
    </details>
  );
}

// Of each direction: the pairs whose packets cross it by the tables, and the jobs that send over it, promised or not.
function Crossing({ id }: { id: string }) {
  const query = useQuery(linkTrafficQuery(id));
  return (
    <Shown query={query}>
      {({ directions }) => (
        <>
          {directions.map(({ from, fromName, toName, routes, traffic }) => (
            <Panel key={from} className="s6" title={<>{fromName} <span className="dim">to</span> {toName}</>}>
              <div className="stack" data-testid="crossing">
                {routes ? (
                  <>
                    <div className="figures"><Figure value={count(routes.pairs)} label="pairs cross it" />{traffic && <Figure value={rate(traffic.gbps)} label={`sent by ${traffic.jobCount === 1 ? '1 job' : `${count(traffic.jobCount)} jobs`}, in the mean`} />}</div>
                    {routes.pairs > 0 && <div><Devices what="From" ports={routes.sources} /><Devices what="To" ports={routes.destinations} /></div>}
                  </>
                ) : <Empty title="It is not routed" />}
                {traffic && traffic.links > 1 && <p className="dim">Of {count(traffic.links)} links side by side: with this number of flows, bundles of links are compared.</p>}
                {traffic && traffic.jobs.length > 0 && (
                  <ul className="list" style={{ margin: '0 -12px' }}>
                    {traffic.jobs.map((job) => (
                      <li key={job.job}>
                        <span className="what"><SubjectLink kind="job" id={job.job} /> {job.name} <span className="dim">{job.tenant}</span><Bar thin label={`${job.job} sends ${rate(job.gbps)}`} total={Math.max(traffic.capacityGbps, traffic.gbps)} parts={[{ value: job.gbps, color: traffic.gbps > 0.95 * traffic.capacityGbps ? 'var(--bad)' : 'var(--accent)' }]} /></span>
                        <span className="nowrap">{rate(job.gbps)}</span>
                      </li>
                    ))}
                  </ul>
                )}
                {traffic && traffic.jobs.length === 0 && <p className="dim">No job sends over it.</p>}
              </div>
            </Panel>
          ))}
        </>
      )}
    </Shown>
  );
}

function Reserved({ link }: { link: Schema['Link'] }) {
  const { id } = link;
  // What the port that sends has measured.
  const measured = (directed: string) => link.counters[link.ends.findIndex((end) => end.port === directed.split('->')[0])]?.sentGbps ?? null;
  const links = useQuery(guaranteedLinksQuery(1000));
  const here = (links.data?.items ?? []).filter((item) => undirected(item.link) === id);
  return (
    <Panel title="Reserved on it" flush className="s6">
      {here.length === 0 ? (
        <Empty title="Nothing is reserved" />
      ) : (
        <ul className="list">
          {here.flatMap((item) =>
            item.classes.map((reserved) => (
              <li key={item.link + reserved.class}>
                <span className="what">
                  <div className="row"><b>{reserved.class}</b><span className="dim mono">{item.link}</span></div>
                  <Bar thin label={`${reserved.reservedGbps} of ${reserved.limitGbps} Gb/s reserved`} total={reserved.limitGbps} parts={[{ value: reserved.reservedGbps, color: reserved.reservedGbps > 0.95 * reserved.limitGbps ? 'var(--bad)' : 'var(--accent)' }]} />
                  <div className="dim">{reserved.holders.map((holder, i) => <span key={holder.job}>{i > 0 && ', '}<SubjectLink kind="job" id={holder.job} /> {rate(holder.gbps)}</span>)}</div>
                </span>
                <span className="nowrap">{rate(reserved.reservedGbps)} of {rate(reserved.limitGbps)}{measured(item.link) !== null && <div className="dim">{rate(measured(item.link)!)} measured, all classes</div>}</span>
              </li>
            )),
          )}
        </ul>
      )}
    </Panel>
  );
}

export function History({ subject, className = 's6' }: { subject: string; className?: string }) {
  const events = useRecent(5000, useMemo(() => ({ subject }), [subject]));
  return (
    <Panel title="What happened" flush className={className}>
      <Shown query={events}>
        {(items) =>
          items.length === 0 ? (
            <Empty title="No event of it is kept nearby" />
          ) : (
            <ul className="list">
              {items.slice(0, 20).map((event) => (
                <li key={event.seq}>
                  <span className="when"><When at={event.time} relative /></span>
                  <span className="what"><Said message={event.message} text={event.summary} /></span>
                  <span className="dim">{event.actor}</span>
                </li>
              ))}
            </ul>
          )
        }
      </Shown>
    </Panel>
  );
}

export function LinkView() {
  const { _splat } = useParams({ strict: false }) as { _splat: string };
  const id = _splat;
  const query = useQuery(linkQuery(id));
  const wan = query.data?.kind === 'wan';
  const history = useQuery({ ...linkHistoryQuery(id, useDetail()), enabled: query.data !== undefined && !wan });
  return (
    <Shown query={query}>
      {(link) => (
        <>
          <Title badge={<Badge tone={tone(link.drained ? 'drained' : link.state)}>{link.drained ? `drained, ${link.state}` : link.state}</Badge>} actions={<May call="POST /v1/links/{id}/drain"><Link to="/drain" search={{ kind: 'link', id: link.id } as never}>Drain</Link></May>}>
            <EndLink end={link.ends[0]!} /> <span className="dim">to</span> <EndLink end={link.ends[1]!} />
          </Title>
          <div className="grid">
            <Panel title="Link" className="s6">
              <Facts
                items={[
                  ['Id', <Copyable key="id" text={link.id} />],
                  ['Rate', `${rate(link.rateGbps)}${link.speed ? `, ${link.speed} x${link.width}` : ''}`],
                  ...(link.seenGbps ? [['Runs at', <Badge key="seen" tone="warn">{rate(link.seenGbps)}</Badge>] as [string, React.ReactNode]] : []),
                  ['Cable', link.cableLengthM ? `${link.cableLengthM} m` : 'length not known'],
                  ...(link.state === 'unknown' ? [['Last seen', <>{link.lastState}, <When at={link.seenAt ?? null} relative /></>] as [string, React.ReactNode]] : []),
                  ...(link.flapping ? [['Flaps', <>{count(link.flapping.flaps)} times, {link.flapping.held ? 'held out of use' : 'used'}, calm <When at={link.flapping.until} relative /> if it does not flap before</>] as [string, React.ReactNode]] : []),
                  ['Utilisation', link.utilisation === null ? 'not read' : percent(link.utilisation)],
                ]}
              />
              <DrainState drain={link.drain} kind="link" id={link.id} />
              <div style={{ marginTop: 10 }}><Cli line={command('links', 'show', link.id)} /></div>
            </Panel>
            <Reserved link={link} />
            {link.alarms.length > 0 && <div className="s12"><AlarmList alarms={link.alarms} /></div>}
            <Crossing id={link.id} />
            {link.counters.some((counters) => counters !== null) && <div className="s12 row"><h2 className="grow">Counters</h2><DetailChoice history={history.data} /></div>}
            <Counters link={link} end={0} history={history.data} />
            <Counters link={link} end={1} history={history.data} />
            <History subject={`link/${link.id}`} className="s12" />
          </div>
        </>
      )}
    </Shown>
  );
}
