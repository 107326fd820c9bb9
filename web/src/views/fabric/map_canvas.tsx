// The map drawn: wheel zooms, dragging moves, a click opens. Arrow keys and the lists do the same for the keyboard.
import { useComputedColorScheme } from '@mantine/core';
import { useCallback, useEffect, useMemo, useRef, useState, type KeyboardEvent, type PointerEvent } from 'react';
import { Icon } from '../../app/icons';
import { count, percent, rate } from '../../model/format';
import { drawMap, fitCamera, groupAt, type Camera, type Pen } from '../../model/map_draw';
import { layoutMap, type FabricMap, type MapGroup } from '../../model/map_layout';
import type { Colouring, Ink, PaintContext } from '../../model/map_paint';

export function Canvas({ map, colouring, context, found, onOpen }: { map: FabricMap; colouring: Colouring; context: PaintContext; found: string; onOpen: (group: MapGroup) => void }) {
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
  const loads = bundles.map((bundle) => bundle.utilisation).filter((use) => use !== null);
  const errors = bundles.map((bundle) => bundle.errors).filter((one) => one !== null && one.grade !== 'none');
  return (
    <div className="map-tip" style={{ left: Math.min(at.x + 14, Math.max(0, width - 300)), top: at.y + 14 }}>
      <b>{group.name || group.subnet}</b>{' '}
      <span className="dim">
        {group.kind === 'switches' ? `${count(group.members)} switches, tier ${group.tier ?? '–'}` : group.kind === 'switch' ? `switch, tier ${group.tier ?? '–'}` : group.kind === 'node' ? 'node' : `${count(group.members)} nodes`}
      </span>
      <div>{count(links)} cables, {rate(gbps)}{group.linksDown > 0 && `, ${group.linksDown} down`}</div>
      {loads.length > 0 && <div>fullest cable {percent(Math.max(...loads))}</div>}
      {errors.length > 0 && <div>errors on {count(errors.reduce((sum, one) => sum + one!.links, 0))} cables, at most {count(Math.round(Math.max(...errors.map((one) => one!.perHour))))} an hour</div>}
      {group.gpus > 0 && <div>{count(group.gpus - group.freeGpus)} of {count(group.gpus)} GPUs used ({percent(1 - group.freeGpus / group.gpus)})</div>}
      {group.tenants.map((tenant) => <div key={tenant.tenant}>{tenant.tenant}: {count(tenant.gpus)}</div>)}
      {group.drained > 0 && <div>{group.drained} drained</div>}
    </div>
  );
}
