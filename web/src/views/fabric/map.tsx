// The map of the fabric: what it shows, by what it is coloured, and when.
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useDebouncedValue } from '@mantine/hooks';
import { useMemo } from 'react';
import { useRecent } from '../../api/recent';
import { alarmsQuery, guaranteedLinksQuery, mapQuery, tenantsQuery } from '../../api/queries';
import { useParam } from '../../app/params';
import { command } from '../../model/cli';
import { colorOf } from '../../model/colors';
import { count } from '../../model/format';
import type { FabricMap, MapGroup } from '../../model/map_layout';
import { COLOURINGS, type Colouring, type PaintContext } from '../../model/map_paint';
import { mapAt, momentOf, statesAt } from '../../model/timeline';
import { Cli, Empty, Legend, Panel, Shown } from '../../parts/basics';
import { Canvas } from './map_canvas';
import { TimeSlider } from './time_slider';

// What the time slider stops at.
const FABRIC_EVENTS = { types: ['link.down', 'link.up', 'link.changed', 'route.programmed'] };

const LEGENDS: Record<Colouring, [string, string][]> = {
  state: [['var(--bad)', 'down or critical'], ['var(--warn)', 'degraded or alarm'], ['var(--drain)', 'drained'], ['var(--dim)', 'in order']],
  load: [['var(--ok)', 'below 60%'], ['var(--accent)', '60 to 80%'], ['var(--warn)', '80 to 95%'], ['var(--bad)', 'above 95%'], ['var(--line)', 'not known']],
  reserved: [['var(--ok)', 'below 60%'], ['var(--accent)', '60 to 80%'], ['var(--warn)', '80 to 95%'], ['var(--bad)', 'above 95%'], ['var(--line)', 'nothing reserved']],
  errors: [['var(--bad)', 'as many as raise a critical alarm'], ['var(--warn)', 'a warning'], ['var(--accent)', 'some within the hour'], ['var(--ok)', 'none'], ['var(--line)', 'not known']],
  against: [['var(--bad)', 'more is used than reserved'], ['var(--warn)', 'above 80% of it'], ['var(--ok)', 'below'], ['var(--dim)', 'used, nothing reserved'], ['var(--line)', 'not known']],
  gpus: [['var(--line)', 'free'], ['var(--ok)', 'below 60% used'], ['var(--accent)', '60 to 80%'], ['var(--warn)', '80 to 95%'], ['var(--bad)', 'above 95%']],
  tenant: [],
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

export function MapPanel() {
  const [within, setWithin] = useParam('within');
  const [colouring, setColouring] = useParam('color', 'state');
  const [found, setFound] = useParam('find');
  const map = useQuery({ ...mapQuery(within || undefined), refetchInterval: 30_000 });
  const context = usePaint();
  const [at, setAt] = useParam('at');
  const recent = useRecent(10_000, FABRIC_EVENTS);
  const past = useMemo(() => recent.data && [...recent.data].reverse(), [recent.data]); // oldest first, as the slider goes
  const moment = useMemo(() => momentOf(at, past ?? []), [at, past]);
  // Load and errors of then are the service's, states of then are those of the events.
  const [asked] = useDebouncedValue(moment?.time, 150);
  const then = useQuery({ ...mapQuery(within || undefined, asked), enabled: asked !== undefined, placeholderData: keepPreviousData });
  const shown = useMemo(
    () => (map.data && moment && past ? mapAt(then.data ?? map.data, statesAt(past, moment.seq)) : map.data),
    [map.data, then.data, past, moment],
  );
  const read = useMemo(() => (map.data?.bundles ?? []).some((bundle) => bundle.utilisation !== null), [map.data]);
  const navigate = useNavigate();
  const open = (group: MapGroup) => {
    if (group.kind === 'switch') void navigate({ to: '/switches/$id', params: { id: group.name } });
    else if (group.kind === 'node') void navigate({ to: '/nodes/$id', params: { id: group.name } });
    else if (group.region && group.region !== within) setWithin(group.region);
    else if (group.kind === 'rack') void navigate({ to: '/fabric', search: { view: 'nodes', 'nodes.q': group.name } as never });
  };
  const regions = [...new Set((map.data?.groups ?? []).map((group) => group.region).filter((name) => name !== null))];
  return (
    <Panel
      title={within ? <><button type="button" className="link-button" onClick={() => setWithin('')}>Fabric</button> / {within}</> : 'Map'}
      flush
      actions={
        <>
          <input className="filter" type="search" placeholder="Find on the map" aria-label="Find on the map" value={found} onChange={(event) => setFound(event.target.value)} />
          <select className="select" aria-label="Region" value={within} onChange={(event) => setWithin(event.target.value)}>
            <option value="">All regions</option>
            {regions.map((name) => <option key={name}>{name}</option>)}
          </select>
          <select className="select" aria-label="Colour by" value={colouring} onChange={(event) => setColouring(event.target.value)}>
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
            <Canvas map={shown ?? data} colouring={colouring as Colouring} context={context} found={found} onOpen={open} />
            <TimeSlider events={past ?? []} read={read} moment={moment} onChange={setAt} />
            <div className="map-key">
              <Legend items={colouring === 'tenant' ? context.tenants.slice(0, 8).map((tenant): [string, string] => [colorOf(context.tenants, tenant), tenant]) : LEGENDS[colouring as Colouring]} />
              <span className="dim">{count(data.groups.length)} groups, {count(data.bundles.reduce((sum, bundle) => sum + bundle.links, 0))} cables; {data.detail === 'devices' ? 'every device' : data.detail === 'racks' ? 'every switch, nodes by rack' : 'by regions: a click opens one'}</span>
            </div>
            </>
          )
        }
      </Shown>
    </Panel>
  );
}
