// A link: its two ends, counters while the page is open, what is reserved of it, what happened to it.
import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { Link, useParams } from '@tanstack/react-router';
import { guaranteedLinksQuery, linkQuery } from '../../api/queries';
import type { Schema } from '../../api/client';
import { useRecent } from '../../api/recent';
import { command } from '../../model/cli';
import { bytes, count, percent, rate } from '../../model/format';
import { remember, remembered } from '../../model/history';
import { tone } from '../../model/tones';
import { Badge, Bar, Cli, Copyable, Empty, Facts, Panel, Shown, SubjectLink, Title, When } from '../../parts/basics';
import { May } from '../../parts/may';
import { Spark } from '../../parts/spark';
import { AlarmList, DrainState } from './about';
import { EndLink } from './fabric';
import { undirected } from './map';

function Counters({ end, counters, name }: { end: Schema['LinkEnd']; counters: Schema['PortCounters'] | null; name: string }) {
  if (!counters) return <Panel title={<EndLink end={end} />} className="s6"><Empty title="Its counters are not read"><p>Counters are read of live subnets.</p></Empty></Panel>;
  const seconds = Date.parse(counters.readAt) / 1000;
  remember(name, seconds, { sent: counters.sentGbps, received: counters.receivedGbps, errors: counters.symbolErrors + counters.receiveErrors + counters.discards });
  return (
    <Panel title={<EndLink end={end} />} className="s6" actions={<span className="dim">read <When at={counters.readAt} relative /></span>}>
      <div className="stack">
        <div className="sparks">
        <Spark label="Sent" series={remembered(name, 'sent')} format={rate} />
        <Spark label="Received" series={remembered(name, 'received')} format={rate} color="--ok" />
        <Spark label="Errors" series={remembered(name, 'errors')} format={count} color="--bad" />
        </div>
        <Facts
          items={[
            ['Sent', `${bytes(counters.sentBytes)} in ${count(counters.sentPackets)} packets`],
            ['Received', `${bytes(counters.receivedBytes)} in ${count(counters.receivedPackets)} packets`],
            ['Symbol errors', count(counters.symbolErrors)],
            ['Receive errors', count(counters.receiveErrors)],
            ['Discards', count(counters.discards)],
            ['Recoveries, downs', `${count(counters.linkRecoveries)}, ${count(counters.linkDowned)}`],
            ['Utilisation', `${counters.utilisation === null ? '–' : percent(counters.utilisation)} now, ${counters.peakUtilisation === null ? '–' : percent(counters.peakUtilisation)} at most`],
          ]}
        />
      </div>
    </Panel>
  );
}

function Reserved({ id }: { id: string }) {
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
                <span className="nowrap">{rate(reserved.reservedGbps)} of {rate(reserved.limitGbps)}</span>
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
                  <span className="what">{event.summary}</span>
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
                  ['Cable', link.cableLengthM ? `${link.cableLengthM} m` : 'length not known'],
                  ['Utilisation', link.utilisation === null ? 'not read' : percent(link.utilisation)],
                ]}
              />
              <DrainState drain={link.drain} kind="link" id={link.id} />
              <div style={{ marginTop: 10 }}><Cli line={command('links', 'show', link.id)} /></div>
            </Panel>
            <Reserved id={link.id} />
            {link.alarms.length > 0 && <div className="s12"><AlarmList alarms={link.alarms} /></div>}
            <Counters end={link.ends[0]!} counters={link.counters[0] ?? null} name={`${link.id}/0`} />
            <Counters end={link.ends[1]!} counters={link.counters[1] ?? null} name={`${link.id}/1`} />
            <History subject={`link/${link.id}`} className="s12" />
          </div>
        </>
      )}
    </Shown>
  );
}
