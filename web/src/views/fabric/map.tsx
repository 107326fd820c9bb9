// The map of the fabric: what it shows, by what it is coloured, and when.
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { useDebouncedValue } from '@mantine/hooks';
import { useMemo } from 'react';
import { useRecent } from '../../api/recent';
import { body, client } from '../../api/client';
import { alarmsQuery, guaranteedLinksQuery, jobsQuery, mapQuery, switchesQuery, tenantsQuery } from '../../api/queries';
import { useParam } from '../../parts/params';
import { command } from '../../model/cli';
import { colorOf } from '../../model/colors';
import { count, percent, rate } from '../../model/format';
import { foundIn } from '../../model/map/draw';
import type { FabricMap, MapGroup } from '../../model/map/layout';
import { COLOURINGS, type Colouring, type PaintContext } from '../../model/map/paint';
import { mapAt, momentOf, statesAt } from '../../model/plots/timeline';
import { Cli, Empty, Legend, Panel, Shown } from '../../parts/basics';
import { Canvas } from './map_canvas';
import { MatrixCanvas } from './matrix_canvas';
import { TimeSlider } from './time_slider';

// What the time slider stops at.
const FABRIC_EVENTS = { types: ['link.down', 'link.up', 'link.changed', 'route.programmed'] };

const LEGENDS: Record<Colouring, [string, string][]> = {
  state: [['var(--bad)', 'down or critical'], ['var(--warn)', 'degraded, held or alarm'], ['var(--drain)', 'drained'], ['var(--unknown)', 'not seen now'], ['var(--dim)', 'in order']],
  load: [['var(--ok)', 'below 60%'], ['var(--accent)', '60 to 80%'], ['var(--warn)', '80 to 95%'], ['var(--bad)', 'above 95%'], ['var(--line)', 'not known']],
  reserved: [['var(--ok)', 'below 60%'], ['var(--accent)', '60 to 80%'], ['var(--warn)', '80 to 95%'], ['var(--bad)', 'above 95%'], ['var(--line)', 'nothing reserved']],
  errors: [['var(--bad)', 'as many as raise a critical alarm'], ['var(--warn)', 'a warning'], ['var(--accent)', 'some within the hour'], ['var(--ok)', 'none'], ['var(--line)', 'not known']],
  against: [['var(--bad)', 'more is used than reserved'], ['var(--warn)', 'above 80% of it'], ['var(--ok)', 'below'], ['var(--dim)', 'used, nothing reserved'], ['var(--line)', 'not known']],
  gpus: [['var(--line)', 'free'], ['var(--ok)', 'below 60% used'], ['var(--accent)', '60 to 80%'], ['var(--warn)', '80 to 95%'], ['var(--bad)', 'above 95%']],
  tenant: [],
  job: [['var(--accent)', 'GPUs of the job'], ['var(--dim)', 'of others'], ['var(--ok)', 'a cable that it fills below 10%'], ['var(--c7)', '10 to 40%'], ['var(--warn)', '40 to 80%'], ['var(--bad)', 'above 80%']],
};

// "a->b" of a directed link as the undirected id: the smaller text first.
export function undirected(directed: string): string {
  const [a = '', b = ''] = directed.split('->');
  return a < b ? `${a}--${b}` : `${b}--${a}`;
}

export const arrow = (name: string) => name.replace('->', ' → ');

function usePaint(): PaintContext {
  const alarms = useQuery(alarmsQuery());
  const links = useQuery(guaranteedLinksQuery(1000));
  const tenants = useQuery(tenantsQuery());
  return useMemo(() => {
    const alarmed: PaintContext['alarmed'] = new Map();
    for (const alarm of alarms.data?.items ?? []) {
      if (alarmed.get(alarm.subject.id) !== 'critical') alarmed.set(alarm.subject.id, alarm.severity);
    }
    const reserved: PaintContext['reserved'] = new Map();
    for (const link of links.data?.items ?? []) {
      const id = undirected(link.link);
      const ofLink = link.capacityGbps > 0 ? link.classes.reduce((sum, item) => sum + item.reservedGbps, 0) / link.capacityGbps : 0;
      const before = reserved.get(id);
      reserved.set(id, { fullest: Math.max(before?.fullest ?? 0, link.fullest), ofLink: Math.max(before?.ofLink ?? 0, ofLink) });
    }
    return { alarmed, reserved, tenants: (tenants.data?.items ?? []).map((tenant) => tenant.id) };
  }, [alarms.data, links.data, tenants.data]);
}

// The map of a fabric that is only planned.
export function PlanMap({ map, title, onSwitch }: { map: FabricMap; title: string; onSwitch: (name: string) => void }) {
  const context = useMemo((): PaintContext => ({ alarmed: new Map(), reserved: new Map(), tenants: [] }), []);
  return (
    <Panel title={title} flush>
      <Canvas map={map} colouring="state" context={context} found="" onOpen={(group) => { if (group.kind === 'switch') onSwitch(group.name); }} />
      <div className="map-key"><Legend items={LEGENDS.state} /></div>
    </Panel>
  );
}

// Where a device is that is not on the map as it is shown: in a rack of it, in a region that is not open, or nowhere.
function useElsewhere(text: string, map: FabricMap | undefined) {
  const [asked] = useDebouncedValue(text.trim(), 250);
  const sought = asked !== '' && map !== undefined && foundIn(map, text).length === 0;
  const nodes = useQuery({ queryKey: ['nodes', 'called', asked], queryFn: () => body(client.GET('/v1/nodes', { params: { query: { name: asked, limit: 5 } } })), enabled: sought });
  const switches = useQuery({ ...switchesQuery(), enabled: sought });
  if (!sought) return null;
  const needle = asked.toLowerCase();
  const devices = [
    ...(nodes.data?.items ?? []).map((node) => ({ kind: 'node', id: node.id, rack: node.rack })),
    ...(switches.data?.items ?? []).filter((sw) => sw.id.toLowerCase().includes(needle)).slice(0, 5).map((sw) => ({ kind: 'switch', id: sw.id, rack: null })),
  ];
  const exact = devices.filter((device) => device.id.toLowerCase() === needle);
  const best = exact.length > 0 ? exact : devices.slice(0, 5);
  const rack = best.find((device) => device.rack !== null && map.groups.some((group) => group.kind === 'rack' && group.name === device.rack));
  return { pending: nodes.isPending || switches.isPending, devices: best, inRack: rack };
}

function Elsewhere({ text, where: { pending, devices, inRack }, open }: { text: string; where: NonNullable<ReturnType<typeof useElsewhere>>; open: (region: string) => void }) {
  return (
    <div className="map-note" role="status" data-testid="elsewhere">
      {pending ? (
        'Searching'
      ) : inRack ? (
        <><Link to="/nodes/$id" params={{ id: inRack.id }}>{inRack.id}</Link> is in {inRack.rack}.</>
      ) : devices.length === 0 ? (
        <>Nothing is called “{text}”.</>
      ) : (
        <>
          Not on this part of the map:{' '}
          {devices.map(({ kind, id }, i) => (
            <span key={id}>{i > 0 && ', '}<button type="button" className="link-button" onClick={() => open(`${kind}:${id}`)}>show where {id} is</button></span>
          ))}
        </>
      )}
    </div>
  );
}

const MOST_JOBS = 300; // of a list that can be chosen from

// The placed jobs, those with most GPUs first; the one that is chosen in any case.
function JobChoice({ job, setJob }: { job: string; setJob: (job: string) => void }) {
  const jobs = useQuery(jobsQuery());
  const placed = (jobs.data?.items ?? []).filter((one) => one.state === 'placed').sort((a, b) => b.gpus - a.gpus);
  const offered = placed.slice(0, MOST_JOBS);
  return (
    <select className="select" aria-label="Job" value={job} onChange={(event) => setJob(event.target.value)}>
      <option value="">All jobs</option>
      {job && !offered.some((one) => one.id === job) && <option>{job}</option>}
      {offered.map((one) => <option key={one.id} value={one.id}>{one.name ? `${one.name} (${one.id})` : one.id}, {count(one.gpus)} GPUs</option>)}
    </select>
  );
}

// What the map tells of the job that is chosen.
function JobOnMap({ map, job }: { map: FabricMap; job: string }) {
  const gpus = map.groups.reduce((sum, group) => sum + (group.jobGpus ?? 0), 0);
  const used = map.bundles.filter((bundle) => bundle.job);
  const fullest = used.reduce<FabricMap['bundles'][number] | undefined>((most, bundle) => (most && most.job!.share >= bundle.job!.share ? most : bundle), undefined);
  const measured = fullest?.utilisation ?? null;
  return (
    <div className="map-note" role="status" data-testid="job-on-map">
      <Link to="/jobs/$id" params={{ id: job }}>{job}</Link>{' '}
      {gpus === 0 ? 'holds no GPUs here.' : <>holds {count(gpus)} GPUs here and sends over {count(used.reduce((sum, bundle) => sum + bundle.job!.links, 0))} cables, as predicted.</>}
      {fullest?.job && <> The fullest carries {rate(fullest.job.gbps)} of it in the mean, {percent(fullest.job.share)} of its rate{fullest.link && <> (<Link to="/links/$" params={{ _splat: fullest.link }}>open</Link>)</>}; {measured === null ? 'no load is measured there' : `${percent(measured)} is measured there, of all jobs`}.</>}
    </div>
  );
}

export function MapPanel() {
  const [within, setWithin] = useParam('within');
  const [job, setJob] = useParam('job');
  const [colouring, setColouring] = useParam('color', job ? 'job' : 'state');
  const [found, setFound] = useParam('find');
  const [drawing, setDrawing] = useParam('as', 'tree');
  const map = useQuery({ ...mapQuery(within || undefined, undefined, job || undefined), refetchInterval: 30_000 });
  const context = usePaint();
  const where = useElsewhere(found, map.data);
  const [at, setAt] = useParam('at');
  const recent = useRecent(10_000, FABRIC_EVENTS);
  const past = useMemo(() => recent.data && [...recent.data].reverse(), [recent.data]); // oldest first, as the slider goes
  const moment = useMemo(() => momentOf(at, past ?? []), [at, past]);
  // Load and errors of then are the service's, states of then are those of the events.
  const [asked] = useDebouncedValue(moment?.time, 150);
  const then = useQuery({ ...mapQuery(within || undefined, asked, job || undefined), enabled: asked !== undefined, placeholderData: keepPreviousData });
  const shown = useMemo(
    () => (map.data && moment && past ? mapAt(then.data ?? map.data, statesAt(past, moment.seq)) : map.data),
    [map.data, then.data, past, moment],
  );
  const read = useMemo(() => (map.data?.bundles ?? []).some((bundle) => bundle.utilisation !== null), [map.data]);
  const navigate = useNavigate();
  const open = (group: MapGroup) => {
    if (group.kind === 'switch') void navigate({ to: '/switches/$id', params: { id: group.name } });
    else if (group.kind === 'node') void navigate({ to: '/nodes/$id', params: { id: group.name } });
    else if (group.region && group.region !== map.data?.within) setWithin(group.region);
    else if (group.kind === 'rack') void navigate({ to: '/fabric', search: { view: 'nodes', 'nodes.q': group.name } as never });
  };
  const regions = [...new Set((map.data?.groups ?? []).map((group) => group.region).filter((name) => name !== null))];
  const chosen = COLOURINGS.some(([value]) => value === colouring) || (job && colouring === 'job') ? (colouring as Colouring) : 'state';
  return (
    <Panel
      className="map-panel"
      title={within ? <><button type="button" className="link-button" onClick={() => setWithin('')}>Fabric</button> / {map.data?.within ?? within}</> : 'Map'}
      flush
      actions={
        <>
          <input className="filter" type="search" placeholder="Find on the map" aria-label="Find on the map" value={found} onChange={(event) => setFound(event.target.value)} />
          <select className="select" aria-label="Region" value={map.data?.within ?? ''} onChange={(event) => setWithin(event.target.value)}>
            <option value="">All regions</option>
            {regions.map((name) => <option key={name}>{name}</option>)}
          </select>
          <JobChoice job={job} setJob={setJob} />
          <select className="select" aria-label="Draw as" value={drawing} onChange={(event) => setDrawing(event.target.value)}>
            <option value="tree">Tree</option>
            <option value="matrix">Matrix</option>
          </select>
          <select className="select" aria-label="Colour by" value={chosen} onChange={(event) => setColouring(event.target.value)}>
            {job && <option value="job">Load of the job</option>}
            {COLOURINGS.map(([value, name]) => <option key={value} value={value}>{name}</option>)}
          </select>
        </>
      }
    >
      <Shown query={map} lines={12}>
        {(data) =>
          data.groups.length === 0 ? (
            <Empty title="No fabric is known yet"><div className="row"><Cli line={command('fabric', 'import', 'dump.txt')} /></div></Empty>
          ) : (
            <>
            {job && <JobOnMap map={data} job={job} />}
            {where && <Elsewhere text={found} where={where} open={setWithin} />}
            {drawing === 'matrix' && data.detail === 'regions' && regions.length > 0 && <div className="map-note">Here each cell joins groups of switches. Leaves against spines are those of a region: {regions.slice(0, 4).map((name, i) => <span key={name}>{i > 0 && ', '}<button type="button" className="link-button" onClick={() => setWithin(name)}>{name}</button></span>)}{regions.length > 4 && ' and others, above'}.</div>}
            {drawing === 'matrix' ? <MatrixCanvas map={shown ?? data} colouring={chosen} context={context} found={found} /> : <Canvas map={shown ?? data} colouring={chosen} context={context} found={where?.inRack?.rack ?? found} onOpen={open} />}
            <TimeSlider events={past ?? []} read={read} moment={moment} onChange={setAt} />
            <div className="map-key">
              <Legend items={chosen === 'tenant' ? context.tenants.slice(0, 8).map((tenant): [string, string] => [colorOf(context.tenants, tenant), tenant]) : LEGENDS[chosen]} />
              <span className="dim">{count(data.groups.length)} groups, {count(data.bundles.reduce((sum, bundle) => sum + bundle.links, 0))} cables; {data.detail === 'devices' ? 'every device' : data.detail === 'racks' ? 'every switch, nodes by rack' : 'by regions: a click opens one'}</span>
            </div>
            </>
          )
        }
      </Shown>
    </Panel>
  );
}
