// Health in one glance, what needs a person, what changed.
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useMemo } from 'react';
import type { Schema } from '../../api/client';
import {
  alarmsQuery,
  drainsQuery,
  fabricQuery,
  guaranteesQuery,
  leaderQuery,
  queueQuery,
  readyQuery,
  sharesQuery,
  strandedQuery,
  subnetsQuery,
  tenantsQuery,
  waitingQuery,
} from '../../api/queries';
import { useCaller, useMay } from '../../api/caller';
import { useLive } from '../../api/events';
import { useRecent } from '../../api/recent';
import { command } from '../../model/cli';
import { colorOf } from '../../model/colors';
import { count, milliseconds, percent, words } from '../../model/format';
import { byType, needs, strandedGpus } from '../../model/health';
import { tone } from '../../model/tones';
import { May } from '../../parts/may';
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

const WELL = new Set(['ready', 'following']);

// The process that answers, and who leads where several share a store.
function Service({ phase, seq, lost, leader }: { phase: string | undefined; seq: number; lost: boolean; leader: Schema['Leader'] | undefined }) {
  const led = leader?.leader;
  return (
    <>
      <li data-testid="replica">
        <span className="what">
          {led ? leader.replica.name : 'railweaved'} <span className="dim">state {count(seq)}{leader && !leader.replica.leads && `, at most ${milliseconds(leader.replica.stalenessMs)} behind`}</span>
        </span>
        <Badge tone={lost ? 'bad' : phase && WELL.has(phase) ? 'ok' : 'warn'}>{lost ? 'no connection' : phase ? words(phase) : 'asking'}</Badge>
      </li>
      {led && (
        <li data-testid="leader">
          <span className="what">{led.name} leads <span className="dim">term {count(led.term)}, since <When at={led.since} relative />, {led.url}</span></span>
          <Badge tone={led.name === leader.replica.name ? 'ok' : 'info'}>{led.name === leader.replica.name ? 'this one' : 'leader'}</Badge>
        </li>
      )}
    </>
  );
}

function Health() {
  const subnets = useQuery(subnetsQuery());
  const ready = useQuery(readyQuery());
  const leader = useQuery(leaderQuery());
  const live = useLive();
  return (
    <Panel title="Subnets and service" className="s6 fill" actions={<Link to="/fabric" search={{ view: 'subnets' } as never}>All</Link>} flush>
      <Shown query={subnets}>
        {({ items }) => (
          <ul className="list">
            <Service phase={ready.data?.phase} seq={Math.max(ready.data?.seq ?? 0, live.seq)} lost={live.state === 'lost'} leader={leader.data} />
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
    <Panel title="Fabric" className="s4 fill" actions={<May call="GET /v1/fabric/map"><Link to="/fabric">Open</Link></May>}>
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
  const open = (alarms.data?.items ?? []).filter((alarm) => !alarm.acknowledged);
  const critical = open.filter((alarm) => alarm.severity === 'critical').length;
  return (
    <Panel title="Needs a person" className="s6 fill" actions={<>{alarms.data && <Link to="/alarms" className="dim" data-testid="alarms-by-severity">{critical} critical alarms, {open.length - critical} warnings{alarms.data.items.length > open.length && `, ${alarms.data.items.length - open.length} acknowledged`}</Link>}<Badge plain tone={found.some((need) => need.tone === 'bad') ? 'bad' : found.length > 0 ? 'warn' : 'ok'}>{found.length}</Badge></>} flush>
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
  const recent = useRecent(1000);
  const now = useNow(30_000);
  const since = now - 3_600_000;
  return (
    <Panel title="The last hour" className="s8 fill" actions={<Link to="/events">All events</Link>} flush>
      <Shown query={recent}>
        {(items) => {
          const kinds = byType(items, since);
          const latest = items.filter((event) => Date.parse(event.time) >= since);
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

// What a member holds and waits for; the fabric itself is not of one tenant.
function Own({ tenant }: { tenant: string }) {
  const tenants = useQuery(tenantsQuery());
  const shares = useQuery(sharesQuery());
  return (
    <Panel title={`What ${tenant} holds`} className="s6 fill" actions={<Link to="/tenants/$id" params={{ id: tenant }}>Tenant</Link>}>
      <Shown query={tenants}>
        {({ items }) => {
          const own = items.find((item) => item.id === tenant);
          const share = shares.data?.items.find((item) => item.tenant === tenant);
          const limit = own?.quotaGpus ?? own?.maxGpus;
          return (
            <div className="stack">
              <div className="figures">
                <Figure value={count(own?.gpusHeld ?? 0)} label={limit ? `GPUs held of ${count(limit)}` : 'GPUs held'} />
                <Figure value={count(share?.gpusWaiting ?? 0)} label="waited for" />
              </div>
              {limit ? <Bar label={`${own?.gpusHeld ?? 0} of ${limit} GPUs`} total={limit} parts={[{ value: Math.min(own?.gpusHeld ?? 0, limit), color: 'var(--accent)' }]} /> : null}
              <p><Link to="/jobs">Its jobs</Link>, <Link to="/queue">why they wait</Link>, <Link to="/submit">what would fit now</Link></p>
            </div>
          );
        }}
      </Shown>
    </Panel>
  );
}

export function Overview() {
  const caller = useCaller();
  const may = useMay();
  if (!may('GET /v1/subnets')) {
    return (
      <>
        <Title actions={<Cli line={command('status')} />}>Overview</Title>
        <div className="grid" style={{ alignItems: 'stretch' }}>
          <Attention />
          <Own tenant={caller?.tenant ?? ''} />
          <LastHour />
          <FabricFacts />
        </div>
      </>
    );
  }
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
