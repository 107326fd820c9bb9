// The map drawn: wheel zooms, dragging moves, a click opens. Arrow keys and the lists do the same for the keyboard.
import { useComputedColorScheme } from '@mantine/core';
import { useCallback, useEffect, useMemo, useRef, useState, type KeyboardEvent, type PointerEvent } from 'react';
import { Icon } from '../../parts/icons';
import { count, percent, rate } from '../../model/format';
import { cameraOn, drawMap, fitCamera, foundIn, groupAt, keyOf, type Camera, type Pen, type Scene } from '../../model/map/draw';
import { strandAt, type Strand } from '../../model/map/strands';
import { SvgPen } from '../../model/map/svg_pen';
import { saveBlob, saveFile } from '../../parts/table';
import { CableTip, Chosen } from './cable';
import { layoutMap, type FabricMap, type MapGroup } from '../../model/map/layout';
import type { Colouring, Ink, PaintContext } from '../../model/map/paint';

const FIND_MS = 250; // between keys
const REACH = 6; // pixels beside a line that still point at it

export function Canvas({ map, colouring, context, found, onOpen }: { map: FabricMap; colouring: Colouring; context: PaintContext; found: string; onOpen: (group: MapGroup) => void }) {
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const scheme = useComputedColorScheme('dark');
  const [size, setSize] = useState({ width: 0, height: 0 });
  const aspect = size.width === 0 ? 0.5 : Math.min(1.5, Math.max(0.5, Math.round((4 * size.height) / size.width) / 4)); // of the box, in steps
  const layout = useMemo(() => layoutMap(map, aspect), [map, aspect]);
  const [camera, setCamera] = useState<Camera | null>(null);
  const [hovered, setHovered] = useState<number | null>(null);
  const [over, setOver] = useState<Strand | null>(null);
  const [chosen, setChosen] = useState<Strand | null>(null);
  const strands = useRef<Strand[]>([]);
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

  // What is found is brought into view, once its name is typed.
  const matches = useMemo(() => foundIn(map, found), [map, found]);
  const sought = `${shape}/${found}`;
  useEffect(() => {
    if (found === '' || size.width === 0) return;
    const timer = setTimeout(() => (matches.length > 0 ? setCamera(cameraOn(layout, matches, size.width, size.height)) : fit()), FIND_MS);
    return () => clearTimeout(timer);
  }, [sought, size.width, size.height]);
  useEffect(() => setChosen(null), [shape]);

  const sceneOf = useCallback(
    (at: Camera): Scene => {
      const style = getComputedStyle(document.documentElement);
      const colors = new Map<string, string>();
      const color = (ink: Ink | 'text' | 'bg' | 'panel-2') => {
        const known = colors.get(ink) ?? style.getPropertyValue(`--${ink}`).trim();
        colors.set(ink, known);
        return known;
      };
      return { map, layout, camera: at, ...size, colouring, context, selection: { hovered, found, over: over && keyOf(over), chosen: chosen && keyOf(chosen) }, color, font: style.getPropertyValue('--font-ui') };
    },
    [map, layout, size, colouring, context, hovered, found, over, chosen],
  );

  useEffect(() => {
    const element = canvas.current;
    if (!element || !camera || size.width === 0) return;
    const frame = requestAnimationFrame(() => {
      const started = performance.now();
      const ratio = window.devicePixelRatio || 1;
      element.width = Math.round(size.width * ratio);
      element.height = Math.round(size.height * ratio);
      const pen = element.getContext('2d') as unknown as Pen;
      pen.setTransform(ratio, 0, 0, ratio, 0, 0);
      const drawn = drawMap(pen, sceneOf(camera));
      strands.current = drawn.strands;
      element.dataset.primitives = String(drawn.primitives);
      element.dataset.calls = String(drawn.calls);
      element.dataset.frameMs = (performance.now() - started).toFixed(1);
      element.dataset.rendered = String(Number(element.dataset.rendered ?? 0) + 1);
    });
    return () => cancelAnimationFrame(frame);
  }, [sceneOf, camera, size, scheme]);

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
    const group = groupAt(layout, camera, at.x, at.y);
    setHovered(group);
    setOver(group === null ? strandUnder(at) : null);
  };
  const strandUnder = (at: { x: number; y: number }) => camera && strandAt(strands.current, camera.x + at.x / camera.scale, camera.y + at.y / camera.scale, REACH / camera.scale);
  const onUp = (event: PointerEvent) => {
    const moved = drag.current?.moved;
    drag.current = null;
    if (moved || !camera) return;
    const at = place(event);
    const index = groupAt(layout, camera, at.x, at.y);
    if (index !== null) onOpen(map.groups[index]!);
    else setChosen(strandUnder(at));
  };
  const onKey = (event: KeyboardEvent) => {
    const step = 60 / (camera?.scale ?? 1);
    const moves: Record<string, [number, number]> = { ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, -step], ArrowDown: [0, step] };
    const move = moves[event.key];
    if (move && camera) setCamera({ ...camera, x: camera.x + move[0], y: camera.y + move[1] });
    else if (event.key === '+' || event.key === '=') zoom(1.3);
    else if (event.key === '-') zoom(1 / 1.3);
    else if (event.key === '0') fit();
    else if (event.key === 'Escape' && chosen) setChosen(null);
    else return;
    event.preventDefault();
  };
  const tip = hovered === null ? undefined : map.groups[hovered];
  const save = async (kind: 'svg' | 'png') => {
    if (!camera) return;
    if (kind === 'png') return canvas.current!.toBlob((blob) => blob && saveBlob('fabric.png', blob));
    const scene = sceneOf(camera);
    const pen = new SvgPen();
    drawMap(pen, scene);
    saveFile('fabric.svg', pen.text(size.width, size.height, scene.color('panel'), 'sans-serif'), 'image/svg+xml');
  };
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
        data-found={found === '' ? undefined : matches.length}
        onPointerLeave={() => {
          setHovered(null);
          setOver(null);
        }}
        onKeyDown={onKey}
      />
      <div className="map-tools">
        <button type="button" className="icon-button" aria-label="Zoom in" onClick={() => zoom(1.4)}><Icon name="plus" /></button>
        <button type="button" className="icon-button" aria-label="Zoom out" onClick={() => zoom(1 / 1.4)}><Icon name="minus" /></button>
        <button type="button" className="icon-button" aria-label="Show all of it" onClick={fit}><Icon name="fit" /></button>
        <button type="button" className="link-button" aria-label="Save the picture as SVG" onClick={() => void save('svg')}>SVG</button>
        <button type="button" className="link-button" aria-label="Save the picture as PNG" onClick={() => void save('png')}>PNG</button>
      </div>
      {chosen && <Chosen strand={chosen} map={map} close={() => setChosen(null)} />}
      {over && !tip && (!chosen || keyOf(over) !== keyOf(chosen)) && <CableTip strand={over} map={map} at={pointer} width={size.width} />}
      {tip && <Tip group={tip} map={map} index={hovered!} at={pointer} width={size.width} />}
    </div>
  );
}

function Tip({ group, map, index, at, width }: { group: MapGroup; map: FabricMap; index: number; at: { x: number; y: number }; width: number }) {
  const bundles = map.bundles.filter((bundle) => bundle.from === index || bundle.to === index);
  const links = bundles.reduce((sum, bundle) => sum + bundle.links, 0);
  const gbps = bundles.reduce((sum, bundle) => sum + bundle.rateGbps, 0);
  const loads = bundles.map((bundle) => bundle.utilisation).filter((use) => use !== null);
  const errors = bundles.map((bundle) => bundle.errors).filter((one) => one !== null && one.grade !== 'none');
  return (
    <div className="map-tip" style={{ left: Math.min(at.x + 14, Math.max(0, width - 300)), top: at.y + 14 }}>
      <b>{group.name || group.subnet}</b>{' '}
      <span className="dim">
        {group.kind === 'switches' ? `${count(group.members)} switches, tier ${group.tier ?? '–'}` : group.kind === 'switch' ? `switch, tier ${group.tier ?? '–'}` : group.kind === 'node' ? 'node' : `${count(group.members)} nodes`}
      </span>
      <div>{count(links)} cables, {rate(gbps)}{group.linksDown > 0 && `, ${group.linksDown} down`}{group.linksHeld > 0 && `, ${group.linksHeld} held`}{group.linksUnknown > 0 && `, ${group.linksUnknown} not seen now`}</div>
      {loads.length > 0 && <div>fullest cable {percent(Math.max(...loads))}</div>}
      {errors.length > 0 && <div>errors on {count(errors.reduce((sum, one) => sum + one!.links, 0))} cables, at most {count(Math.round(Math.max(...errors.map((one) => one!.perHour))))} an hour</div>}
      {group.gpus > 0 && <div>{count(group.gpus - group.freeGpus)} of {count(group.gpus)} GPUs used ({percent(1 - group.freeGpus / group.gpus)})</div>}
      {group.jobGpus && <div>{count(group.jobGpus)} of the job</div>}
      {group.tenants.map((tenant) => <div key={tenant.tenant}>{tenant.tenant}: {count(tenant.gpus)}</div>)}
      {group.drained > 0 && <div>{group.drained} drained</div>}
    </div>
  );
}
