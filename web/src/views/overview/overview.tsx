// Health in one glance, what needs a person, what changed.
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useMemo } from 'react';
import {
  alarmsQuery,
  drainsQuery,
  fabricQuery,
  guaranteesQuery,
  queueQuery,
  readyQuery,
  recentEventsQuery,
  sharesQuery,
  strandedQuery,
  subnetsQuery,
  waitingQuery,
} from '../../api/queries';
import { useLive } from '../../api/events';
import { command } from '../../model/cli';
import { colorOf } from '../../model/colors';
import { count, percent, words } from '../../model/format';
import { byType, needs, strandedGpus } from '../../model/health';
import { tone } from '../../model/tones';
import { Badge, Bar, Cli, Empty, Facts, Figure, Legend, Panel, Shown, SubjectLink, Title, useNow, When } from '../../parts/basics';

function Gpus() {
  const fabric = useQuery(fabricQuery());
  const shares = useQuery(sharesQuery());
  const stranded = useQuery(strandedQuery());
  return (
    <Panel title="GPUs" className="s6 fill" actions={<Link to="/fabric">Map</Link>}>
      <Shown query={fabric}>
        {({ gpus, freeGpus }) => {
          const held = (shares.data?.items ?? []).filter((share) => share.gpusHeld > 0);
          const names = (shares.data?.items ?? []).map((share) => share.tenant);
          const lost = strandedGpus(stranded.data);
          const parts = [
            ...held.map((share) => ({ name: share.tenant, value: share.gpusHeld, color: colorOf(names, share.tenant) })),
            { name: 'stranded', value: lost, color: 'var(--warn)' },
          ];
          return (
            <div className="stack">
              <div className="figures">
                <Figure value={count(gpus - freeGpus)} label={`used of ${count(gpus)}${gpus > 0 ? ` (${percent(1 - freeGpus / gpus)})` : ''}`} />
                <Figure value={count(freeGpus)} label="free" />
                <Figure value={count(lost)} label="stranded: no waiting job fits" tone={lost > 0 ? 'warn' : 'none'} />
              </div>
              <Bar label={`${gpus - freeGpus} of ${gpus} GPUs are used`} total={gpus} parts={parts} />
              <Legend items={[...parts.filter((part) => part.value > 0).map((part): [string, string] => [part.color, `${part.name} ${count(part.value)}`]), ['var(--line)', `free, usable ${count(freeGpus - lost)}`]]} />
              {stranded.data && lost > 0 && stranded.data.beside.length > 0 && (
                <p className="dim">
                  Stranded beside{' '}
                  {stranded.data.beside.slice(0, 4).map((beside, i) => (
                    <span key={beside.job}>{i > 0 && ', '}<SubjectLink kind="job" id={beside.job} /> ({beside.gpus})</span>
                  ))}
                </p>
              )}
            </div>
          );
        }}
      </Shown>
    </Panel>
  );
}

function Health() {
  const subnets = useQuery(subnetsQuery());
  const ready = useQuery(readyQuery());
  const live = useLive();
  return (
    <Panel title="Subnets and service" className="s6 fill" actions={<Link to="/fabric" search={{ view: 'subnets' } as never}>All</Link>} flush>
      <Shown query={subnets}>
        {({ items }) => (
          <ul className="list">
            <li>
              <span className="what">railweaved <span className="dim">state {count(ready.data?.seq ?? 0)}</span></span>
              <Badge tone={live.state === 'live' && ready.data?.phase === 'ready' ? 'ok' : live.state === 'lost' ? 'bad' : 'warn'}>{live.state === 'lost' ? 'no connection' : (ready.data?.phase ?? 'asking')}</Badge>
            </li>
            {items.slice(0, 6).map((subnet) => (
              <li key={subnet.id}>
                <span className="what">
                  {subnet.id} <span className="dim">{count(subnet.switches)} switches, {count(subnet.hostPorts)} node ports, {subnet.mode}</span>
                  {subnet.live?.problem && <div className="dim">{subnet.live.problem}</div>}
                </span>
                {subnet.live ? <Badge tone={tone(subnet.live.phase)}>{words(subnet.live.phase)}</Badge> : <Badge>not connected</Badge>}
              </li>
            ))}
            {items.length > 6 && <li><Link to="/fabric" search={{ view: 'subnets' } as never}>{items.length - 6} more</Link></li>}
          </ul>
        )}
      </Shown>
    </Panel>
  );
}

function Promises() {
  const guarantees = useQuery(guaranteesQuery());
  const queue = useQuery(queueQuery());
  return (
    <Panel title="Guarantees and queue" className="s6 fill" actions={<Link to="/guarantees">Guarantees</Link>}>
      <Shown query={guarantees}>
        {({ items }) => {
          const risk = items.filter((item) => item.state !== 'holds').length;
          const enforced = items.filter((item) => item.state === 'holds' && item.inForce.level === 'hardware').length;
          return (
            <div className="figures">
              <Figure value={count(enforced)} label="enforced" tone={enforced > 0 ? 'ok' : 'none'} />
              <Figure value={count(items.length - risk - enforced)} label="planned only" />
              <Figure value={count(risk)} label="at risk" tone={risk > 0 ? 'bad' : 'none'} />
              {queue.data && <Figure value={count(queue.data.running)} label="jobs run" />}
              {queue.data && <Figure value={count(queue.data.waiting)} label={queue.data.waiting > 0 ? `wait for ${count(queue.data.gpusWaiting)} GPUs` : 'wait'} />}
            </div>
          );
        }}
      </Shown>
    </Panel>
  );
}

function FabricFacts() {
  const fabric = useQuery(fabricQuery());
  return (
    <Panel title="Fabric" className="s4 fill" actions={<Link to="/fabric">Open</Link>}>
      <Shown query={fabric}>
        {(summary) =>
          summary.digest === '' ? (
            <Empty title="No fabric is known yet">
              <Cli line={command('fabric', 'import', 'dump.txt')} />
            </Empty>
          ) : (
            <Facts
              items={[
                ['Hosts', `${count(summary.hosts)} in ${count(summary.racks)} racks`],
                ['Switches', `${count(summary.switches)}, ${count(summary.leaves)} of them leaves, in ${summary.tiers} tiers`],
                ['Links', `${count(summary.hostLinks)} to hosts, ${count(summary.interSwitchLinks)} between switches`],
                ['NVLink domains', count(summary.nvlinkDomains)],
                ['Accepted from', summary.source],
              ]}
            />
          )
        }
      </Shown>
    </Panel>
  );
}

function Attention() {
  const alarms = useQuery(alarmsQuery());
  const subnets = useQuery(subnetsQuery());
  const guarantees = useQuery(guaranteesQuery());
  const drains = useQuery(drainsQuery());
  const waiting = useQuery(waitingQuery());
  const found = useMemo(
    () =>
      needs({
        alarms: alarms.data?.items ?? [],
        subnets: subnets.data?.items ?? [],
        guarantees: guarantees.data?.items ?? [],
        drains: drains.data?.items ?? [],
        waiting: waiting.data?.items ?? [],
      }),
    [alarms.data, subnets.data, guarantees.data, drains.data, waiting.data],
  );
  return (
    <Panel title="Needs a person" className="s6 fill" actions={<Badge plain tone={found.some((need) => need.tone === 'bad') ? 'bad' : found.length > 0 ? 'warn' : 'ok'}>{found.length}</Badge>} flush>
      <Shown query={alarms}>
        {() =>
          found.length === 0 ? (
            <Empty title="Nothing needs a person" />
          ) : (
            <ul className="list">
              {found.slice(0, 12).map((need, i) => (
                <li key={i}>
                  <Badge tone={need.tone}>{need.tone === 'bad' ? 'critical' : need.tone === 'warn' ? 'warning' : 'ready'}</Badge>
                  <span className="what">
                    {need.text}
                    {need.subject && <div><SubjectLink kind={need.subject.kind} id={need.subject.id} /></div>}
                  </span>
                </li>
              ))}
              {found.length > 12 && <li><Link to="/alarms">{found.length - 12} more</Link></li>}
            </ul>
          )
        }
      </Shown>
    </Panel>
  );
}

function LastHour() {
  const fabric = useQuery(fabricQuery());
  const live = useLive();
  const seq = Math.max(fabric.data?.seq ?? 0, live.seq);
  const recent = useQuery({ ...recentEventsQuery(seq, 400), enabled: fabric.data !== undefined, placeholderData: (before) => before });
  const now = useNow(30_000);
  const since = now - 3_600_000;
  return (
    <Panel title="The last hour" className="s8 fill" actions={<Link to="/events">All events</Link>} flush>
      <Shown query={recent}>
        {(items) => {
          const kinds = byType(items, since);
          const latest = items.filter((event) => Date.parse(event.time) >= since).reverse();
          return kinds.length === 0 ? (
            <Empty title="Nothing changed" />
          ) : (
            <>
              <div className="in row">
                {kinds.slice(0, 8).map(([type, n]) => (
                  <Link key={type} to="/events" search={{ type } as never}><Badge plain>{words(type)} {n}</Badge></Link>
                ))}
              </div>
              <ul className="list">
                {latest.slice(0, 9).map((event) => (
                  <li key={event.seq}>
                    <span className="when"><When at={event.time} relative /></span>
                    <span className="what">{event.summary}</span>
                    {event.severity !== 'info' && <Badge tone={tone(event.severity)}>{event.severity}</Badge>}
                  </li>
                ))}
              </ul>
            </>
          );
        }}
      </Shown>
    </Panel>
  );
}

export function Overview() {
  return (
    <>
      <Title actions={<Cli line={command('status')} />}>Overview</Title>
      <div className="grid" style={{ alignItems: 'stretch' }}>
        <Attention />
        <Gpus />
        <Health />
        <Promises />
        <LastHour />
        <FabricFacts />
      </div>
    </>
  );
}
