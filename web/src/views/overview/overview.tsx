// Health in one glance, what needs a person, what changed.
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useMemo } from 'react';
import type { Schema } from '../../api/client';
import {
  alarmsQuery,
  drainsQuery,
  fabricQuery,
  gainsQuery,
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
import { byType, inWords, needs, strandedGpus, unwatched } from '../../model/health';
import { waitReasons } from '../../model/queue';
import { gainBasis, gainText } from '../../model/steps';
import { tone } from '../../model/tones';
import { May } from '../../parts/may';
import { Badge, Bar, Cli, Empty, Facts, Figure, Legend, Panel, Shown, SubjectLink, Title, useNow, When } from '../../parts/basics';
import { Said } from '../../parts/said';
import { WorkPlot } from '../../parts/work_plot';
import { AlarmActions } from '../../parts/alarm_actions';

// Why free GPUs stay free though jobs wait, by what keeps each of these jobs: what can be done about it follows.
function Why({ lost, free }: { lost: number; free: number }) {
  const waiting = useQuery(waitingQuery());
  const reasons = waitReasons(waiting.data?.items ?? []);
  return (
    <div className="dim" data-testid="why-free">
      <p>{count(lost)} of {count(free)} free GPUs fit no waiting job as they are:</p>
      <ul className="list">
        {reasons.map(({ code, jobs, gpus, text }) => (
          <li key={code}><span className="what">{text}</span><Link to="/queue">{count(jobs)} {jobs === 1 ? 'job' : 'jobs'}, {count(gpus)} GPUs</Link></li>
        ))}
      </ul>
    </div>
  );
}

function Gpus() {
  const fabric = useQuery(fabricQuery());
  const shares = useQuery(sharesQuery());
  const stranded = useQuery(strandedQuery());
  const queue = useQuery(queueQuery());
  return (
    <Panel title="GPUs" className="s6 fill" actions={<Link to="/fabric">Map</Link>}>
      <Shown query={fabric}>
        {({ gpus, freeGpus }) => {
          const held = (shares.data?.items ?? []).filter((share) => share.gpusHeld > 0);
          const names = (shares.data?.items ?? []).map((share) => share.tenant);
          const lost = queue.data?.waiting === 0 ? 0 : strandedGpus(stranded.data); // where no job waits, none is asked for
          const parts = [
            ...held.map((share) => ({ name: share.tenant, value: share.gpusHeld, color: colorOf(names, share.tenant) })),
            { name: 'free, no waiting job fits', value: lost, color: 'var(--warn)' },
          ];
          return (
            <div className="stack">
              <div className="figures">
                <Figure value={count(gpus - freeGpus)} label={`used of ${count(gpus)}${gpus > 0 ? ` (${percent(1 - freeGpus / gpus)})` : ''}`} />
                <Figure value={count(freeGpus)} label="free" />
                <Figure value={count(lost)} label="free, but no waiting job fits on them" tone={lost > 0 ? 'warn' : 'none'} />
              </div>
              <Bar label={`${gpus - freeGpus} of ${gpus} GPUs are used`} total={gpus} parts={parts} />
              <Legend items={[...parts.filter((part) => part.value > 0).map((part): [string, string] => [part.color, `${part.name} ${count(part.value)}`]), ['var(--line)', `free, usable ${count(freeGpus - lost)}`]]} />
              {lost > 0 && <Why lost={lost} free={freeGpus} />}
              {stranded.data && lost > 0 && stranded.data.beside.length > 0 && (
                <p className="dim">
                  Beside{' '}
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
                  {subnet.live?.unseen && <div className="dim">links and tables are not known; last seen <When at={subnet.live.discoveredAt} relative /></div>}
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
  const subnets = useQuery(subnetsQuery());
  const seen = !subnets.data || unwatched(subnets.data.items) === null;
  return (
    <Panel title="Guarantees and queue" className="s6 fill" actions={<Link to="/guarantees">Guarantees</Link>}>
      <Shown query={guarantees}>
        {({ items }) => {
          const risk = items.filter((item) => item.state === 'atRisk').length;
          const enforced = items.filter((item) => item.state === 'holds' && item.inForce.level === 'hardware').length;
          return (
            <div className="figures">
              <Figure value={count(enforced)} label={seen ? 'enforced' : 'enforced when last seen'} tone={enforced > 0 && seen ? 'ok' : 'none'} />
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
            <Empty title="No fabric is known yet"><p>The first step is above.</p></Empty>
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

// A service that knows nothing yet says what to do first, in order.
function FirstSteps() {
  const fabric = useQuery(fabricQuery());
  if (!fabric.data || fabric.data.digest !== '') return null;
  return (
    <Panel title="Welcome: this service knows no fabric yet" className="s12 first-steps">
      <ol className="stack" data-testid="first-steps">
        <li>Tell it what is cabled: the output of <code>ibnetdiscover</code>, or a generated fabric to try things with.<Cli line={command('fabric', 'import', 'dump.txt', '--gpus-per-node', '8')} /><Cli line="railweave lab generate demo -O demo.json && railweave fabric import demo.json" /></li>
        <li>Say who may hold GPUs.<Cli line={command('tenants', 'set', 'research', '--max-gpus', '512')} /></li>
        <li>Ask where a job would go, here under <Link to="/submit">Submit, what if</Link> or at the shell.<Cli line={command('place', '--tp', '8', '--dp', '4')} /></li>
      </ol>
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
  const blind = subnets.data ? unwatched(subnets.data.items) : null;
  const muted = (alarms.data?.items ?? []).filter((alarm) => alarm.muted).length;
  const acknowledged = (alarms.data?.items ?? []).filter((alarm) => !alarm.muted && alarm.acknowledged).length;
  const open = (alarms.data?.items ?? []).filter((alarm) => !alarm.acknowledged && !alarm.muted);
  const critical = open.filter((alarm) => alarm.severity === 'critical').length;
  return (
    <Panel title="Needs a person" className="s6 fill" actions={<>{alarms.data && <Link to="/alarms" className="dim" data-testid="alarms-by-severity">{critical} critical {critical === 1 ? 'alarm' : 'alarms'}, {open.length - critical} {open.length - critical === 1 ? 'warning' : 'warnings'}{acknowledged > 0 && `, ${acknowledged} acknowledged`}{muted > 0 && `, ${muted} muted`}</Link>}<Badge plain tone={found.some((need) => need.tone === 'bad') ? 'bad' : found.length > 0 ? 'warn' : blind === null ? 'ok' : 'none'}>{found.length}</Badge></>} flush>
      <Shown query={alarms}>
        {() =>
          found.length === 0 ? (
            <Empty title={blind === null ? 'Nothing needs a person' : 'Nothing that is known needs a person'}>{blind && <p>{blind[0]!.toUpperCase() + blind.slice(1)}.</p>}</Empty>
          ) : (
            <ul className="list">
              {found.slice(0, 12).map((need) => (
                <li key={need.alarm?.id ?? `${need.detail} ${need.subject?.id ?? ''} ${need.text}`}>
                  <Badge tone={need.tone}>{need.tone === 'bad' ? 'critical' : need.tone === 'warn' ? 'warning' : 'ready'}</Badge>
                  <span className="what">
                    {inWords(need.text)}
                    {need.subject && <div><SubjectLink kind={need.subject.kind} id={need.subject.id} name={need.subject.name} />{need.alarm && <> · <AlarmActions alarm={need.alarm} /></>}</div>}
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

// What steps of control have gained, where jobs report how long their steps take.
function Gains() {
  const { data } = useQuery(gainsQuery());
  if (!data || data.gains.length === 0) return null;
  return (
    <Panel title="What control has gained, measured" className="s12" flush>
      <ul className="list" data-testid="gains">
        {data.gains.map((gain) => (
          <li key={`${gain.step} ${gain.scheduler ?? ''}`}>
            <Badge plain>{gain.step}{gain.scheduler && ` (${[gain.scheduler, gain.parts.join(', ')].filter(Boolean).join(': ')})`}</Badge>
            <span className="what">{gainText(gain)} <span className="dim">{gainBasis(gain)}</span></span>
          </li>
        ))}
      </ul>
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
                    <span className="what"><Said message={event.message} text={event.summary} /></span>
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
          <Gains />
          <LastHour />
          <FabricFacts />
        </div>
      </>
    );
  }
  return (
    <>
      <Title actions={<Cli line={command('status')} />}>Overview</Title>
      <FirstSteps />
      <div className="grid" style={{ alignItems: 'stretch' }}>
        <Attention />
        <Gpus />
        <Health />
        <Promises />
        <WorkPlot className="s12" />
        <Gains />
        <LastHour />
        <FabricFacts />
      </div>
    </>
  );
}
