// Draws the map on a canvas. Canvas 2D, not WebGL: the service aggregates, so that there are a few thousand primitives at
// most, and it draws the same over a remote desktop without a GPU. What is out of view or too small to see is left out;
// bundles of one colour are one path. Returns how much was drawn.
import type { FabricMap, Layout } from './map_layout';
import { bundleInk, groupInk, type Colouring, type Ink, type PaintContext } from './map_paint';

export interface Camera {
  x: number; // of the map at the canvas's left edge
  y: number;
  scale: number; // pixels per unit
}

export interface Drawn {
  primitives: number;
  calls: number;
}

export interface Selection {
  hovered: number | null; // position of a group
  found: string; // text searched for
}

export const MAX_PRIMITIVES = 20_000;
const LABELS_FROM = 6.5; // height of a text in pixels that can be read

export function fitCamera(layout: Layout, width: number, height: number, margin = 28): Camera {
  const left = 58; // for the names of the rows
  const scale = Math.min((width - margin - left) / layout.width, (height - 2.6 * margin) / layout.height, 2);
  const safe = Math.max(scale, 0.001);
  return { scale: safe, x: (layout.width - (width + left - margin) / safe) / 2, y: (layout.height - height / safe) / 2 };
}

export function groupAt(layout: Layout, camera: Camera, px: number, py: number): number | null {
  const x = camera.x + px / camera.scale;
  const y = camera.y + py / camera.scale;
  const slack = 3 / camera.scale;
  const found = layout.boxes.findIndex((box) => x >= box.x - slack && x <= box.x + box.w + slack && y >= box.y - slack && y <= box.y + box.h + slack);
  return found < 0 ? null : found;
}

const ORDER: Ink[] = ['line', 'dim', 'ok', 'accent', 'drain', 'warn', 'bad'];

export type Pen = Pick<
  CanvasRenderingContext2D,
  'beginPath' | 'moveTo' | 'lineTo' | 'bezierCurveTo' | 'stroke' | 'fillRect' | 'strokeRect' | 'fillText' | 'clearRect' | 'setLineDash' | 'setTransform' | 'save' | 'restore' | 'measureText'
> & { strokeStyle: unknown; fillStyle: unknown; lineWidth: number; font: string; globalAlpha: number; textAlign: CanvasTextAlign; textBaseline: CanvasTextBaseline };

export interface Scene {
  map: FabricMap;
  layout: Layout;
  camera: Camera;
  width: number;
  height: number;
  colouring: Colouring;
  context: PaintContext;
  selection: Selection;
  color: (ink: Ink | 'text' | 'bg' | 'panel-2') => string;
  font: string;
}

export function drawMap(pen: Pen, scene: Scene): Drawn {
  const drawn: Drawn = { primitives: 0, calls: 0 };
  pen.clearRect(0, 0, scene.width, scene.height);
  drawColumns(pen, scene, drawn);
  drawBundles(pen, scene, drawn);
  drawGroups(pen, scene, drawn);
  drawRowNames(pen, scene, drawn);
  return drawn;
}

function screen({ camera }: Scene, x: number, y: number): [number, number] {
  return [(x - camera.x) * camera.scale, (y - camera.y) * camera.scale];
}

function drawColumns(pen: Pen, scene: Scene, drawn: Drawn) {
  pen.textBaseline = 'alphabetic';
  if (scene.layout.columns.length < 2) return;
  for (const column of scene.layout.columns) {
    const [x, y] = screen(scene, column.x - 12, -16);
    const w = (column.w + 24) * scene.camera.scale;
    if (x > scene.width || x + w < 0) continue;
    pen.fillStyle = scene.color('panel-2');
    pen.fillRect(x, y, w, (scene.layout.height + 32) * scene.camera.scale);
    if (w > 60) {
      pen.font = `600 11px ${scene.font}`;
      pen.fillStyle = scene.color('dim');
      pen.textAlign = 'center';
      pen.fillText(column.name, x + w / 2, y + (scene.layout.height + 32) * scene.camera.scale + 14);
      drawn.primitives += 1;
      drawn.calls += 1;
    }
    drawn.primitives += 1;
    drawn.calls += 1;
  }
}

function drawRowNames(pen: Pen, scene: Scene, drawn: Drawn) {
  pen.textBaseline = 'middle';
  pen.textAlign = 'left';
  pen.font = `600 11px ${scene.font}`;
  for (const row of scene.layout.rows) {
    const [, y] = screen(scene, 0, row.y + row.h / 2);
    if (y < 0 || y > scene.height) continue;
    pen.fillStyle = scene.color('panel');
    pen.globalAlpha = 0.8;
    pen.fillRect(4, y - 9, 50, 18);
    pen.globalAlpha = 1;
    pen.fillStyle = scene.color('dim');
    pen.fillText(row.name, 8, y);
    drawn.primitives += 2;
    drawn.calls += 2;
  }
}

function drawBundles(pen: Pen, scene: Scene, drawn: Drawn) {
  const { map, layout, colouring, context, selection } = scene;
  const byInk = new Map<string, { ink: Ink; wide: number; dashed: boolean; lines: [number, number, number, number][] }>();
  for (const bundle of map.bundles) {
    const a = layout.boxes[bundle.from]!;
    const b = layout.boxes[bundle.to]!;
    const upper = a.y <= b.y ? a : b;
    const lower = upper === a ? b : a;
    const [x1, y1] = screen(scene, upper.x + upper.w / 2, upper.y === lower.y ? upper.y + upper.h / 2 : upper.y + upper.h);
    const [x2, y2] = screen(scene, lower.x + lower.w / 2, upper.y === lower.y ? lower.y + lower.h / 2 : lower.y);
    if (Math.max(x1, x2) < 0 || Math.min(x1, x2) > scene.width || Math.max(y1, y2) < 0 || Math.min(y1, y2) > scene.height) continue;
    const ink = bundleInk(bundle, colouring, context);
    const focused = selection.hovered === bundle.from || selection.hovered === bundle.to;
    const wide = map.bundles.length > 200 && ink === 'line' ? 1 : bundle.links > 64 ? 3 : bundle.links > 8 ? 2 : 1;
    const key = `${ink}/${wide}/${focused}`;
    const group = byInk.get(key) ?? { ink, wide: focused ? wide + 0.8 : wide, dashed: ink === 'bad', lines: [] };
    byInk.set(key, group);
    group.lines.push([x1, y1, x2, y2]);
    drawn.primitives += 1;
    if (drawn.primitives >= MAX_PRIMITIVES - 2 * layout.boxes.length) break;
  }
  // Many ordinary lines are a tone behind what matters, not a net of their own.
  const ordinary = byInk.get('line/1/false')?.lines.length ?? 0;
  const quiet = ordinary > 1500 ? 0.14 : ordinary > 200 ? 0.4 : 0.85;
  const batches = [...byInk].sort(([ka, a], [kb, b]) => Number(ka.endsWith('true')) - Number(kb.endsWith('true')) || ORDER.indexOf(a.ink) - ORDER.indexOf(b.ink));
  for (const [key, { ink, wide, dashed, lines }] of batches) {
    const focused = key.endsWith('true');
    const telling = ink === 'bad' || ink === 'warn'; // seen among many others
    pen.globalAlpha = focused ? 1 : selection.hovered !== null ? 0.18 : ink === 'line' ? quiet : telling ? 1 : 0.85;
    pen.strokeStyle = scene.color(focused && ink === 'line' ? 'accent' : ink === 'line' ? 'dim' : ink);
    pen.lineWidth = ink === 'line' && !focused ? wide * 0.6 : telling ? wide + 1.2 : wide * 1.3;
    pen.setLineDash(dashed ? [5, 4] : []);
    pen.beginPath();
    for (const [x1, y1, x2, y2] of lines) {
      pen.moveTo(x1, y1);
      pen.lineTo(x2, y2);
    }
    pen.stroke();
    drawn.calls += 1;
  }
  pen.globalAlpha = 1;
  pen.setLineDash([]);
}

function labelOf(scene: Scene, index: number): [string, string] {
  const group = scene.map.groups[index]!;
  const name = group.name || (group.subnet ?? 'others');
  if (group.kind === 'node') return [name, ''];
  if (group.kind === 'switch') return [name, ''];
  if (group.kind === 'switches') return [`${group.members} switches`, name === '' ? (group.subnet ?? '') : (group.subnet ?? name)];
  return [name, group.gpus > 0 ? `${group.gpus - group.freeGpus}/${group.gpus} GPUs` : `${group.members} nodes`];
}

// As much of the text as fits, its end kept: names differ at the end.
export function clipped(text: string, fits: number): string {
  if (text.length <= fits) return text;
  return fits < 3 ? '' : `…${text.slice(text.length - fits + 1)}`;
}

function drawGroups(pen: Pen, scene: Scene, drawn: Drawn) {
  const { layout, camera, map, selection } = scene;
  const needle = selection.found.toLowerCase();
  pen.textAlign = 'center';
  layout.boxes.forEach((box, index) => {
    const [x, y] = screen(scene, box.x, box.y);
    const w = box.w * camera.scale;
    const h = box.h * camera.scale;
    if (x + w < 0 || x > scene.width || y + h < 0 || y > scene.height || drawn.primitives >= MAX_PRIMITIVES) return;
    const group = map.groups[index]!;
    const ink = groupInk(group, scene.colouring, scene.context);
    const isFound = needle !== '' && group.name.toLowerCase().includes(needle);
    pen.globalAlpha = needle !== '' && !isFound ? 0.3 : 1;
    pen.fillStyle = scene.color('panel');
    pen.fillRect(x, y, w, h);
    if (ink !== 'dim' && ink !== 'line') {
      pen.globalAlpha *= 0.28;
      pen.fillStyle = scene.color(ink);
      pen.fillRect(x, y, w, h);
      pen.globalAlpha = needle !== '' && !isFound ? 0.3 : 1;
      drawn.primitives += 1;
      drawn.calls += 1;
    }
    pen.strokeStyle = scene.color(isFound || selection.hovered === index ? 'accent' : ink === 'line' ? 'line' : ink);
    pen.lineWidth = isFound || selection.hovered === index ? 2 : 1;
    pen.strokeRect(x + 0.5, y + 0.5, w - 1, h - 1);
    drawn.primitives += 2;
    drawn.calls += 2;
    if (group.gpus > 0 && h > 9) {
      // A gauge of used GPUs at the lower edge.
      pen.fillStyle = scene.color('accent');
      pen.fillRect(x + 2, y + h - Math.max(3, h * 0.12), (w - 4) * (1 - group.freeGpus / group.gpus), Math.max(2, h * 0.1));
      drawn.primitives += 1;
      drawn.calls += 1;
    }
    const letters = Math.min(11, h * (group.kind === 'node' || group.kind === 'switch' ? 0.46 : 0.3));
    if (letters < LABELS_FROM) return;
    const [first, second] = labelOf(scene, index);
    pen.font = `600 ${letters}px ${scene.font}`;
    pen.fillStyle = scene.color('text');
    pen.textBaseline = 'middle';
    const fits = Math.floor((w - 4) / (letters * 0.62));
    pen.fillText(clipped(first, fits), x + w / 2, y + (second ? h * 0.32 : h * 0.46));
    drawn.primitives += 1;
    drawn.calls += 1;
    if (second) {
      pen.font = `${letters * 0.92}px ${scene.font}`;
      pen.fillStyle = scene.color('dim');
      pen.fillText(clipped(second, fits), x + w / 2, y + h * 0.66);
      drawn.primitives += 1;
      drawn.calls += 1;
    }
  });
  pen.globalAlpha = 1;
}
