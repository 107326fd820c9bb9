// The map: wheel zooms, dragging moves, a click opens. Arrow keys and the list beside it do the same for the keyboard.
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useComputedColorScheme } from '@mantine/core';
import { useCallback, useEffect, useMemo, useRef, useState, type KeyboardEvent, type PointerEvent } from 'react';
import { useRecent } from '../../api/recent';
import { alarmsQuery, guaranteedLinksQuery, jobsQuery, mapQuery, tenantsQuery } from '../../api/queries';
import { Icon } from '../../app/icons';
import { useParam } from '../../app/params';
import { useSettings } from '../../app/settings';
import { command } from '../../model/cli';
import { colorOf } from '../../model/colors';
import { count, percent, rate, time } from '../../model/format';
import { drawMap, fitCamera, groupAt, type Camera, type Pen } from '../../model/map_draw';
import { layoutMap, type FabricMap, type MapGroup } from '../../model/map_layout';
import { COLOURINGS, type Colouring, type Ink, type PaintContext } from '../../model/map_paint';
import { jobsAt, mapAt, statesAt, type TimelineEvent } from '../../model/timeline';
import { Badge, Cli, Empty, Legend, Panel, Shown } from '../../parts/basics';

// What the time slider stops at.
const FABRIC_EVENTS = { types: ['link.down', 'link.up', 'link.changed', 'route.programmed'] };

// Alarms about counters of errors.
const ERRORS = new Set(['link.symbolErrors', 'link.recoveries', 'link.downed', 'link.receiveErrors', 'link.discards', 'link.vl15Dropped']);

const LEGENDS: Record<Colouring, [string, string][]> = {
  state: [['var(--bad)', 'down or critical'], ['var(--warn)', 'degraded or alarm'], ['var(--drain)', 'drained'], ['var(--dim)', 'in order']],
  load: [['var(--ok)', 'below 60%'], ['var(--accent)', '60 to 80%'], ['var(--warn)', '80 to 95%'], ['var(--bad)', 'above 95%'], ['var(--line)', 'not known']],
  reserved: [['var(--ok)', 'below 60%'], ['var(--accent)', '60 to 80%'], ['var(--warn)', '80 to 95%'], ['var(--bad)', 'above 95%'], ['var(--line)', 'nothing reserved']],
  errors: [['var(--bad)', 'critical: symbols, recoveries, discards'], ['var(--warn)', 'above the warning level'], ['var(--line)', 'below']],
  against: [['var(--bad)', 'more is used than reserved'], ['var(--warn)', 'above 80% of it'], ['var(--ok)', 'below'], ['var(--dim)', 'used, nothing reserved'], ['var(--line)', 'not known']],
  gpus: [['var(--line)', 'free'], ['var(--ok)', 'below 60% used'], ['var(--accent)', '60 to 80%'], ['var(--warn)', '80 to 95%'], ['var(--bad)', 'above 95%']],
  tenant: [],
};

// "a->b" of a directed link as the undirected id: the smaller text first.
export function undirected(directed: string): string {
  const [a = '', b = ''] = directed.split('->');
  return a < b ? `${a}--${b}` : `${b}--${a}`;
}

function usePaint(): PaintContext {
  const alarms = useQuery(alarmsQuery());
  const links = useQuery(guaranteedLinksQuery(1000));
  const tenants = useQuery(tenantsQuery());
  return useMemo(() => {
    const alarmed: PaintContext['alarmed'] = new Map();
    for (const alarm of alarms.data?.items ?? []) {
      if (alarmed.get(alarm.subject.id) !== 'critical') alarmed.set(alarm.subject.id, alarm.severity);
    }
    const failing: PaintContext['failing'] = new Map();
    for (const alarm of alarms.data?.items ?? []) {
      if (alarm.subject.kind === 'port' && ERRORS.has(alarm.kind) && failing.get(alarm.subject.id) !== 'critical') failing.set(alarm.subject.id, alarm.severity);
    }
    const reserved: PaintContext['reserved'] = new Map();
    for (const link of links.data?.items ?? []) {
      const id = undirected(link.link);
      const ofLink = link.capacityGbps > 0 ? link.classes.reduce((sum, item) => sum + item.reservedGbps, 0) / link.capacityGbps : 0;
      const before = reserved.get(id);
      reserved.set(id, { fullest: Math.max(before?.fullest ?? 0, link.fullest), ofLink: Math.max(before?.ofLink ?? 0, ofLink) });
    }
    return { alarmed, failing, reserved, tenants: (tenants.data?.items ?? []).map((tenant) => tenant.id) };
  }, [alarms.data, links.data, tenants.data]);
}

function Canvas({ map, colouring, context, found, onOpen }: { map: FabricMap; colouring: Colouring; context: PaintContext; found: string; onOpen: (group: MapGroup) => void }) {
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const scheme = useComputedColorScheme('dark');
  const layout = useMemo(() => layoutMap(map), [map]);
  const [size, setSize] = useState({ width: 0, height: 0 });
  const [camera, setCamera] = useState<Camera | null>(null);
  const [hovered, setHovered] = useState<number | null>(null);
  const [pointer, setPointer] = useState({ x: 0, y: 0 });
  const drag = useRef<{ x: number; y: number; moved: boolean } | null>(null);
  const shape = `${map.within ?? ''}/${map.topologyVersion}/${map.detail}`;

  useEffect(() => {
    const element = box.current!;
    const observer = new ResizeObserver(([entry]) => setSize({ width: entry!.contentRect.width, height: entry!.contentRect.height }));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  const fit = useCallback(() => {
    if (size.width > 0) setCamera(fitCamera(layout, size.width, size.height));
  }, [layout, size]);
  // The camera is set again when another part of the fabric is shown, not with each change of its state.
  useEffect(fit, [shape, size.width, size.height]);

  useEffect(() => {
    const element = canvas.current;
    if (!element || !camera || size.width === 0) return;
    const frame = requestAnimationFrame(() => {
      const started = performance.now();
      const ratio = window.devicePixelRatio || 1;
      element.width = Math.round(size.width * ratio);
      element.height = Math.round(size.height * ratio);
      const style = getComputedStyle(document.documentElement);
      const colors = new Map<string, string>();
      const color = (ink: Ink | 'text' | 'bg' | 'panel-2') => {
        const known = colors.get(ink);
        if (known) return known;
        const value = style.getPropertyValue(`--${ink}`).trim();
        colors.set(ink, value);
        return value;
      };
      const pen = element.getContext('2d') as unknown as Pen;
      pen.setTransform(ratio, 0, 0, ratio, 0, 0);
      const drawn = drawMap(pen, { map, layout, camera, ...size, colouring, context, selection: { hovered, found }, color, font: style.getPropertyValue('--font-ui') });
      element.dataset.primitives = String(drawn.primitives);
      element.dataset.calls = String(drawn.calls);
      element.dataset.frameMs = (performance.now() - started).toFixed(1);
      element.dataset.rendered = String(Number(element.dataset.rendered ?? 0) + 1);
    });
    return () => cancelAnimationFrame(frame);
  }, [map, layout, camera, size, colouring, context, hovered, found, scheme]);

  const zoom = useCallback(
    (factor: number, px = size.width / 2, py = size.height / 2) =>
      setCamera((now) => {
        if (!now) return now;
        const scale = Math.min(12, Math.max(0.02, now.scale * factor));
        return { scale, x: now.x + px / now.scale - px / scale, y: now.y + py / now.scale - py / scale };
      }),
    [size],
  );
  useEffect(() => {
    const element = canvas.current!;
    const onWheel = (event: WheelEvent) => {
      event.preventDefault();
      const at = element.getBoundingClientRect();
      zoom(Math.exp(-event.deltaY * 0.0015), event.clientX - at.left, event.clientY - at.top);
    };
    element.addEventListener('wheel', onWheel, { passive: false }); // React's own cannot refuse scrolling
    return () => element.removeEventListener('wheel', onWheel);
  }, [zoom]);

  const place = (event: PointerEvent) => {
    const at = canvas.current!.getBoundingClientRect();
    return { x: event.clientX - at.left, y: event.clientY - at.top };
  };
  const onMove = (event: PointerEvent) => {
    const at = place(event);
    if (drag.current && camera) {
      const dx = at.x - drag.current.x;
      const dy = at.y - drag.current.y;
      if (Math.abs(dx) + Math.abs(dy) > 3 || drag.current.moved) {
        drag.current = { ...at, moved: true };
        setCamera({ ...camera, x: camera.x - dx / camera.scale, y: camera.y - dy / camera.scale });
      }
      return;
    }
    if (!camera) return;
    setPointer(at);
    setHovered(groupAt(layout, camera, at.x, at.y));
  };
  const onUp = (event: PointerEvent) => {
    const moved = drag.current?.moved;
    drag.current = null;
    if (moved || !camera) return;
    const at = place(event);
    const index = groupAt(layout, camera, at.x, at.y);
    if (index !== null) onOpen(map.groups[index]!);
  };
  const onKey = (event: KeyboardEvent) => {
    const step = 60 / (camera?.scale ?? 1);
    const moves: Record<string, [number, number]> = { ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, -step], ArrowDown: [0, step] };
    const move = moves[event.key];
    if (move && camera) setCamera({ ...camera, x: camera.x + move[0], y: camera.y + move[1] });
    else if (event.key === '+' || event.key === '=') zoom(1.3);
    else if (event.key === '-') zoom(1 / 1.3);
    else if (event.key === '0') fit();
    else return;
    event.preventDefault();
  };
  const tip = hovered === null ? undefined : map.groups[hovered];
  return (
    <div className="map-box" ref={box}>
      <canvas
        ref={canvas}
        tabIndex={0}
        role="img"
        aria-label={`Map of ${map.within ?? 'the fabric'}: ${map.groups.length} groups, ${map.bundles.length} bundles of cables. Arrow keys move, plus and minus zoom, 0 fits. The tables list the same.`}
        data-testid="map"
        onPointerDown={(event) => {
          drag.current = { ...place(event), moved: false };
          (event.target as Element).setPointerCapture(event.pointerId);
        }}
        onPointerMove={onMove}
        onPointerUp={onUp}
        onPointerLeave={() => setHovered(null)}
        onKeyDown={onKey}
      />
      <div className="map-tools">
        <button type="button" className="icon-button" aria-label="Zoom in" onClick={() => zoom(1.4)}><Icon name="plus" /></button>
        <button type="button" className="icon-button" aria-label="Zoom out" onClick={() => zoom(1 / 1.4)}><Icon name="minus" /></button>
        <button type="button" className="icon-button" aria-label="Show all of it" onClick={fit}><Icon name="fit" /></button>
      </div>
      {tip && <Tip group={tip} map={map} index={hovered!} at={pointer} width={size.width} />}
    </div>
  );
}

function Tip({ group, map, index, at, width }: { group: MapGroup; map: FabricMap; index: number; at: { x: number; y: number }; width: number }) {
  const bundles = map.bundles.filter((bundle) => bundle.from === index || bundle.to === index);
  const links = bundles.reduce((sum, bundle) => sum + bundle.links, 0);
  const gbps = bundles.reduce((sum, bundle) => sum + bundle.rateGbps, 0);
  return (
    <div className="map-tip" style={{ left: Math.min(at.x + 14, Math.max(0, width - 300)), top: at.y + 14 }}>
      <b>{group.name || group.subnet}</b>{' '}
      <span className="dim">
        {group.kind === 'switches' ? `${count(group.members)} switches, tier ${group.tier ?? '–'}` : group.kind === 'switch' ? `switch, tier ${group.tier ?? '–'}` : group.kind === 'node' ? 'node' : `${count(group.members)} nodes`}
      </span>
      <div>{count(links)} cables, {rate(gbps)}{group.linksDown > 0 && `, ${group.linksDown} down`}</div>
      {group.gpus > 0 && <div>{count(group.gpus - group.freeGpus)} of {count(group.gpus)} GPUs used ({percent(1 - group.freeGpus / group.gpus)})</div>}
      {group.tenants.map((tenant) => <div key={tenant.tenant}>{tenant.tenant}: {count(tenant.gpus)}</div>)}
      {group.drained > 0 && <div>{group.drained} drained</div>}
    </div>
  );
}

// The map of a fabric that is only planned.
export function PlanMap({ map, title, onSwitch }: { map: FabricMap; title: string; onSwitch: (name: string) => void }) {
  const context = useMemo((): PaintContext => ({ alarmed: new Map(), failing: new Map(), reserved: new Map(), tenants: [] }), []);
  return (
    <Panel title={title} flush>
      <Canvas map={map} colouring="state" context={context} found="" onOpen={(group) => { if (group.kind === 'switch') onSwitch(group.name); }} />
      <div className="map-key"><Legend items={LEGENDS.state} /></div>
    </Panel>
  );
}

// The last failures and reroutes: dragging shows the map as it was after each.
function TimeSlider({ events, at, onChange }: { events: TimelineEvent[]; at: number | undefined; onChange: (seq: number | undefined) => void }) {
  const { zone } = useSettings();
  const index = at === undefined ? events.length : events.findIndex((event) => event.seq === at);
  const event = events[index];
  const jobs = useQuery({ ...jobsQuery(), enabled: event !== undefined });
  if (events.length === 0) return null;
  const then = event && jobs.data ? jobsAt(jobs.data.items, Date.parse(event.time)) : undefined;
  return (
    <div className="map-key time-slider">
      <label className="row" style={{ flex: 1, flexWrap: 'nowrap' }}>
        <span className="nowrap">Failures and reroutes</span>
        <input type="range" min={0} max={events.length} value={index < 0 ? events.length : index} onChange={(change) => onChange(events[Number(change.target.value)]?.seq)} aria-label="Time of the map" aria-valuetext={event ? `${time(event.time, zone)}: ${event.summary}` : 'now'} />
      </label>
      <span className="nowrap">{event ? <><Badge tone="warn">{time(event.time, zone)}</Badge> {event.summary.length > 70 ? `${event.summary.slice(0, 70)}…` : event.summary}</> : <Badge tone="ok">now</Badge>}</span>
      {then && <span className="dim nowrap" data-testid="jobs-then" title={then.jobs.slice(0, 30).map((job) => `${job.id} ${job.name}`).join('\n')}>{then.jobs.length === 1 ? '1 job' : `${count(then.jobs.length)} jobs`} on {count(then.gpus)} GPUs</span>}
      {event && <button type="button" className="link-button" onClick={() => onChange(undefined)}>Back to now</button>}
    </div>
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
  const moment = at === '' ? undefined : Number(at);
  const shown = useMemo(
    () => (map.data && moment !== undefined && past ? mapAt(map.data, statesAt(past, moment)) : map.data),
    [map.data, past, moment],
  );
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
            <TimeSlider events={past ?? []} at={moment} onChange={(seq) => setAt(seq === undefined ? '' : String(seq))} />
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
