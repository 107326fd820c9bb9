// The queue: who waits and why, what each tenant holds, what is reserved for later.
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { Schema } from '../../api/client';
import { defragmentationQuery, policyQuery, queueQuery, reservationsQuery, sharesQuery, strandedQuery, waitingQuery } from '../../api/queries';
import { useParam } from '../../parts/params';
import { useSettings } from '../../parts/settings';
import { command } from '../../model/cli';
import { paletteColor } from '../../model/colors';
import { count, duration, microseconds, parseDuration, percent, time, words } from '../../model/format';
import { spanOf, ticks } from '../../model/plots/calendar';
import { strandedGpus } from '../../model/health';
import { Badge, Bar, Cli, Empty, Facts, Figure, Panel, Shown, SubjectLink, Title, useNow, When } from '../../parts/basics';
import { EditButton } from '../../parts/edit';
import { May } from '../../parts/may';
import { Said } from '../../parts/said';
import { DataTable } from '../../parts/table';
import { WorkPlot } from '../../parts/work_plot';
import { Tabs } from '../../parts/tabs';
import { editPolicy, editReservation, newReservation } from './edit';
import { WaitingActions } from './waiting';

function Waiting() {
  const query = useQuery(waitingQuery());
  return (
    <Panel title="Jobs that wait" flush actions={<Cli line={command('queue', 'list')} />}>
      <Shown query={query}>
        {({ items }) => (
          <DataTable
            name="waiting"
            rows={items}
            rowKey={(job) => job.id}
            empty={<Empty title="No job waits" />}
            columns={[
              { id: 'place', name: 'Place', value: (job) => job.place, num: true },
              { id: 'change', name: '', value: () => null, cell: (job) => <WaitingActions job={job} all={items} /> },
              { id: 'id', name: 'Job', value: (job) => job.id, cell: (job) => <><Link to="/jobs/$id" params={{ id: job.id }}>{job.id}</Link>{job.name && <div className="dim">{job.name}</div>}</> },
              { id: 'tenant', name: 'Tenant', value: (job) => job.tenant },
              { id: 'priority', name: 'Priority', value: (job) => job.priority },
              { id: 'gpus', name: 'GPUs', value: (job) => job.gpus, num: true },
              { id: 'code', name: 'Waits for', value: (job) => job.waits && `${job.waits.code}: ${job.waits.reason}`, wrap: true, cell: (job) => (job.waits ? <><Badge tone={job.waits.starving || job.waits.code === 'neverFits' ? 'bad' : 'warn'}>{words(job.waits.code)}</Badge><div><Said message={job.waits.message} text={job.waits.reason} />{job.waits.job && <> (<SubjectLink kind="job" id={job.waits.job} />)</>}</div></> : '–') },
              { id: 'expected', name: 'Expected', value: (job) => job.waits?.expectedAt, cell: (job) => <When at={job.waits?.expectedAt} relative /> },
              { id: 'submitted', name: 'Submitted', value: (job) => job.submittedAt, cell: (job) => <When at={job.submittedAt} relative /> },
            ]}
          />
        )}
      </Shown>
    </Panel>
  );
}

function Shares() {
  const query = useQuery(sharesQuery());
  return (
    <Panel title="Fair shares and quotas" flush actions={<Cli line={command('queue', 'shares')} />}>
      <Shown query={query}>
        {({ items }) => (
          <DataTable
            name="shares"
            rows={items}
            rowKey={(share) => share.tenant}
            empty={<Empty title="There are no tenants" />}
            columns={[
              { id: 'tenant', name: 'Tenant', value: (share) => share.tenant, cell: (share) => <Link to="/tenants/$id" params={{ id: share.tenant }}>{share.tenant}</Link> },
              { id: 'held', name: 'Holds', value: (share) => share.gpusHeld, num: true },
              {
                id: 'use', name: 'Of its quota', value: (share) => (share.quotaGpus ? share.gpusHeld / share.quotaGpus : null),
                cell: (share) => {
                  const limit = share.quotaGpus ?? share.maxGpus;
                  return limit ? <div style={{ width: 160 }}><Bar thin label={`${share.gpusHeld} of ${limit} GPUs`} total={Math.max(limit, share.gpusHeld)} parts={[{ value: Math.min(share.gpusHeld, limit), color: paletteColor(0) }, { value: Math.max(0, share.gpusHeld - limit), color: 'var(--warn)' }]} /></div> : <span className="dim">no limit</span>;
                },
              },
              { id: 'quota', name: 'Quota', value: (share) => share.quotaGpus, num: true },
              { id: 'max', name: 'At most', value: (share) => share.maxGpus, num: true },
              { id: 'waiting', name: 'Waits for', value: (share) => share.gpusWaiting, num: true },
              { id: 'cohort', name: 'Cohort', value: (share) => share.cohort || null },
              { id: 'borrowed', name: 'Borrowed', value: (share) => share.borrowedGpus, num: true },
              { id: 'weight', name: 'Weight', value: (share) => share.weight, num: true },
              { id: 'share', name: 'Share', value: (share) => share.share, cell: (share) => percent(share.share, 1), num: true },
              { id: 'average', name: 'Held on average', value: (share) => share.averageGpus, cell: (share) => count(share.averageGpus), num: true },
            ]}
          />
        )}
      </Shown>
    </Panel>
  );
}

function Calendar({ reservations }: { reservations: Omit<Schema['Reservation'], 'nodes'>[] }) {
  const now = useNow(60_000);
  const { zone } = useSettings();
  const span = spanOf(reservations.map(({ from, to }) => [Date.parse(from), Date.parse(to)]), now);
  const at = (ms: number) => `${(100 * (ms - span.from)) / (span.to - span.from)}%`;
  return (
    <div className="calendar in" data-testid="calendar">
      <div className="lane" style={{ height: 18, fontSize: 11 }}>
        {ticks(span, 6).map((tick) => (
          <span key={tick} className="dim nowrap" style={{ position: 'absolute', left: at(tick), transform: 'translateX(-50%)' }}>{span.to - span.from > 60 * 86_400_000 ? time(new Date(tick).toISOString(), zone).slice(0, 10) : time(new Date(tick).toISOString(), zone).slice(5, 16)}</span>
        ))}
      </div>
      {reservations.map((item) => (
        <div className="lane" key={item.id}>
          <div className={`block ${item.kind}`} style={{ left: at(Date.parse(item.from)), width: `calc(${at(Date.parse(item.to))} - ${at(Date.parse(item.from))})`, minWidth: 4 }} title={`${item.id}: ${item.gpus} GPUs, ${item.reason}`}>
            {item.id}, {count(item.gpus)} GPUs
          </div>
        </div>
      ))}
      <div style={{ position: 'absolute', top: 0, bottom: 0, left: at(now), borderLeft: '2px solid var(--bad)' }} aria-label="Now" role="img" />
    </div>
  );
}

function Reservations() {
  const query = useQuery(reservationsQuery());
  return (
    <div className="stack">
      <Shown query={query}>
        {({ items }) => (
          <>
            {items.length > 0 && <Panel title="Calendar" flush><Calendar reservations={items} /></Panel>}
            <Panel title="Reservations and maintenance" flush actions={<><Cli line={command('reservations', 'list')} /><May call="PUT /v1/reservations/{name}"><EditButton label="Set GPUs aside" editing={newReservation} /></May></>}>
              <DataTable
                name="reservations"
                rows={items}
                rowKey={(item) => item.id}
                empty={<Empty title="Nothing is set aside"><div className="row"><Cli line={command('reservations', 'set', 'firmware', '--node', 'dgx-017', '--from', '2026-12-01T08:00:00Z', '--to', '2026-12-01T12:00:00Z')} /></div></Empty>}
                columns={[
                  { id: 'id', name: 'Name', value: (item) => item.id },
                  { id: 'kind', name: 'Kind', value: (item) => item.kind },
                  { id: 'from', name: 'From', value: (item) => item.from, cell: (item) => <When at={item.from} /> },
                  { id: 'to', name: 'To', value: (item) => item.to, cell: (item) => <When at={item.to} /> },
                  { id: 'gpus', name: 'GPUs', value: (item) => item.gpus, num: true },
                  { id: 'tenant', name: 'Tenant', value: (item) => item.tenant },
                  { id: 'reason', name: 'Reason', value: (item) => item.reason || null, wrap: true },
                  { id: 'change', name: '', value: () => null, cell: (item) => <May call="PUT /v1/reservations/{name}"><EditButton plain label="Change" editing={editReservation(item.id)} /></May> },
                ]}
              />
            </Panel>
          </>
        )}
      </Shown>
    </div>
  );
}

function Policy() {
  const policy = useQuery(policyQuery());
  const defrag = useQuery({ ...defragmentationQuery(), retry: false });
  const span = (text: string) => { const ms = parseDuration(text); return ms === undefined ? text : duration(ms); };
  return (
    <div className="grid">
      <Panel title="Rules" className="s6" actions={<><Cli line={command('queue', 'policy')} /><May call="PUT /v1/queue/policy"><EditButton label="Change" editing={editPolicy} /></May></>}>
        <Shown query={policy}>
          {(rules) => (
            <Facts
              items={[
                ['Backfill', rules.backfill], ['Fair share', rules.fairShare], ['Half-life', span(rules.halfLife)], ['Default duration', span(rules.defaultDuration)],
                ['Starvation bound', span(rules.starvationBound)], ['Runs before eviction', span(rules.minRuntime)], ['Overrun', span(rules.overrun)],
                ['Classes', rules.priorityClasses.map((item) => `${item.name} (${item.value})`).join(', ')],
              ]}
            />
          )}
        </Shown>
      </Panel>
      <Panel title="Moves that would free NVLink domains" className="s6" actions={<Cli line={command('queue', 'defrag', '--dry-run')} />} flush>
        <Shown query={defrag}>
          {({ steps }) => steps.length === 0 ? <Empty title="No move would free a domain" /> : (
            <ul className="list">{steps.slice(0, 20).map((step, i) => <li key={i}><span className="what">{step.frees.join(', ')}: {step.freedGpus} GPUs <span className="dim">by moving {step.moves.length} jobs, {duration(step.costGpuSeconds * 1000)} of one GPU</span></span></li>)}</ul>
          )}
        </Shown>
      </Panel>
    </div>
  );
}

export function Queue() {
  const [tab] = useParam('tab', 'waiting');
  const queue = useQuery(queueQuery());
  const stranded = useQuery(strandedQuery());
  return (
    <>
      <Title actions={<Cli line={command('queue', 'show')} />}>Queue</Title>
      <div className="stack">
        <Panel title="Now">
          <Shown query={queue} lines={2}>
            {(data) => (
              <div className="figures">
                <Figure value={count(data.waiting)} label="jobs wait" />
                <Figure value={count(data.gpusWaiting)} label="GPUs asked for" />
                <Figure value={count(data.running)} label="jobs run" />
                <Figure value={count(data.freeGpus)} label={`GPUs free of ${count(data.totalGpus)}`} />
                {stranded.data && <Figure value={count(strandedGpus(stranded.data))} label="stranded" tone={strandedGpus(stranded.data) > 0 ? 'warn' : 'none'} />}
                {data.lastCycle && <Figure value={microseconds(data.lastCycle.tookUs)} label="last cycle" />}
                {data.oldestSubmittedAt && <Figure value={<When at={data.oldestSubmittedAt} relative />} label="oldest submitted" />}
              </div>
            )}
          </Shown>
        </Panel>
        <div>
          <Tabs name="tab" tabs={[['waiting', 'Waiting'], ['shares', 'Fair shares'], ['reservations', 'Reservations'], ['policy', 'Rules']]} />
          {tab === 'shares' ? <Shares /> : tab === 'reservations' ? <Reservations /> : tab === 'policy' ? <Policy /> : <div className="stack"><WorkPlot /><Waiting /></div>}
        </div>
      </div>
    </>
  );
}
