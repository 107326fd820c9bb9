// Draws the map on a canvas. Canvas 2D, not WebGL: the service aggregates, so that there are a few thousand primitives at
// most, and it draws the same over a remote desktop without a GPU. What is out of view or too small to see is left out;
// bundles of one colour are one path. Returns how much was drawn.
import type { FabricMap, Layout, MapGroup } from './layout';
import { groupInk, tenantInk, type Colouring, type Ink, type PaintContext } from './paint';
import { strandsOf, type Strand } from './strands';

export interface Camera {
  x: number; // of the map at the canvas's left edge
  y: number;
  scale: number; // pixels per unit
}

export interface Drawn {
  primitives: number;
  calls: number;
  strands: Strand[]; // what can be pointed at
}

export interface Selection {
  hovered: number | null; // position of a group
  found: string; // text searched for
  over: string | null; // key of the strand that is pointed at
  chosen: string | null;
}

export const keyOf = (strand: Strand) => `${strand.band ? 'band' : 'one'}/${strand.bundles[0]}`;

// The groups whose name contains it.
export function foundIn(map: FabricMap, text: string): number[] {
  const needle = text.trim().toLowerCase();
  return needle === '' ? [] : map.groups.flatMap((group, at) => (group.name.toLowerCase().includes(needle) ? [at] : []));
}

// What is found fills the view, as near as its labels can be read and no nearer.
const READABLE = 1.1;
export function cameraOn(layout: Layout, groups: number[], width: number, height: number): Camera {
  const boxes = groups.map((at) => layout.boxes[at]!);
  const left = Math.min(...boxes.map((box) => box.x));
  const right = Math.max(...boxes.map((box) => box.x + box.w));
  const top = Math.min(...boxes.map((box) => box.y));
  const bottom = Math.max(...boxes.map((box) => box.y + box.h));
  const margin = 120;
  const scale = Math.max(0.001, Math.min(READABLE, (width - margin) / Math.max(right - left, 1), (height - margin) / Math.max(bottom - top, 1)));
  return { scale, x: (left + right) / 2 - width / scale / 2, y: (top + bottom) / 2 - height / scale / 2 };
}

export const MAX_PRIMITIVES = 20_000;
const LABELS_FROM = 6.5; // height of a text in pixels that can be read

export const NARROW = 700; // pixels: the tools of a map are above it then, else at its right edge
export function fitCamera(layout: Layout, width: number, height: number): Camera {
  const left = 58; // for the names of the rows
  const right = width < NARROW ? 10 : 62; // and for the tools
  // Above and below, a column reaches beyond its devices; its name is under it.
  const [beyond, name] = [16, 26];
  const scale = Math.min((width - right - left) / layout.width, (height - name) / (layout.height + 2 * beyond), 2);
  const safe = Math.max(scale, 0.001);
  const spare = Math.max(0, height - name - (layout.height + 2 * beyond) * safe);
  return { scale: safe, x: (layout.width - (width + left - right) / safe) / 2, y: -beyond - (4 + spare / 2) / safe };
}

export function groupAt(layout: Layout, camera: Camera, px: number, py: number): number | null {
  const x = camera.x + px / camera.scale;
  const y = camera.y + py / camera.scale;
  const slack = 3 / camera.scale;
  const found = layout.boxes.findIndex((box) => x >= box.x - slack && x <= box.x + box.w + slack && y >= box.y - slack && y <= box.y + box.h + slack);
  return found < 0 ? null : found;
}

const ORDER: Ink[] = ['line', 'dim', 'unknown', 'ok', 'c7', 'accent', 'drain', 'warn', 'bad'];

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
  const strands = strandsOf(scene.map, scene.layout, scene.colouring, scene.context, new Set(scene.selection.hovered === null ? [] : [scene.selection.hovered]));
  const drawn: Drawn = { primitives: 0, calls: 0, strands };
  pen.clearRect(0, 0, scene.width, scene.height);
  drawColumns(pen, scene, drawn);
  drawStrands(pen, scene, drawn);
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

// Width of a band: cables by their logarithm, as there may be one or ten thousand.
const bandWidth = (links: number) => Math.min(14, 1.5 + Math.log2(links + 1));

function drawStrands(pen: Pen, scene: Scene, drawn: Drawn) {
  const { layout, selection } = scene;
  const batches = new Map<string, { ink: Ink; width: number; strong: boolean; band: boolean; lines: [number, number, number, number][] }>();
  const marked = new Set([selection.over, selection.chosen].filter((key) => key !== null));
  const many = drawn.strands.length > 200;
  for (const strand of drawn.strands) {
    const [x1, y1] = screen(scene, strand.x1, strand.y1);
    const [x2, y2] = screen(scene, strand.x2, strand.y2);
    if (Math.max(x1, x2) < 0 || Math.min(x1, x2) > scene.width || Math.max(y1, y2) < 0 || Math.min(y1, y2) > scene.height) continue;
    const at = scene.map.bundles[strand.bundles[0]!]!;
    const strong = marked.has(keyOf(strand)) || (!strand.band && (selection.hovered === at.from || selection.hovered === at.to));
    const width = strand.band ? bandWidth(strand.links) : many && strand.ink === 'line' ? 1 : strand.links > 64 ? 3 : strand.links > 8 ? 2 : 1;
    const key = `${strand.ink}/${width.toFixed(1)}/${strong}/${strand.band}`;
    const batch = batches.get(key) ?? { ink: strand.ink, width, strong, band: strand.band, lines: [] };
    batches.set(key, batch);
    batch.lines.push([x1, y1, x2, y2]);
    drawn.primitives += 1;
    if (drawn.primitives >= MAX_PRIMITIVES - 2 * layout.boxes.length) break;
  }
  // Many ordinary lines are a tone behind what matters, not a net of their own.
  const ordinary = drawn.strands.filter((strand) => strand.ink === 'line' && !strand.band).length;
  const quiet = ordinary > 600 ? 0.3 : ordinary > 200 ? 0.4 : 0.85;
  const inOrder = [...batches.values()].sort((a, b) => Number(a.strong) - Number(b.strong) || Number(b.band) - Number(a.band) || ORDER.indexOf(a.ink) - ORDER.indexOf(b.ink));
  for (const { ink, width, strong, band, lines } of inOrder) {
    const telling = ink === 'bad' || ink === 'warn'; // seen among many others
    pen.globalAlpha = strong ? 1 : selection.hovered !== null ? 0.18 : band ? 0.22 : ink === 'line' ? quiet : telling ? 1 : 0.85;
    pen.strokeStyle = scene.color(strong && ink === 'line' ? 'accent' : ink === 'line' ? 'dim' : ink);
    pen.lineWidth = band ? width : (ink === 'line' && !strong ? width * 0.6 : telling ? width + 1.2 : width * 1.3) + (strong ? 1 : 0);
    pen.setLineDash(ink === 'bad' || ink === 'unknown' ? [5, 4] : []);
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

// GPUs as slots. Of a node or a rack each GPU is one, those of a node beside each other; of many nodes they are a share
// each, in rows. head: the part of the box that its name has.
export interface SlotGrid {
  columns: number;
  rows: number;
  slots: number;
  head: number;
}
const MOST_SLOTS = 512;
const SHARES = { columns: 32, rows: 16 };
const SLOT_FROM = 2; // pixels of one that can be seen

export function slotGrid(group: MapGroup, w: number, h: number): SlotGrid | null {
  if (group.gpus === 0 || (group.kind !== 'nodes' && group.kind !== 'rack' && group.kind !== 'node')) return null;
  if (group.kind === 'nodes' || group.gpus > MOST_SLOTS) return { ...SHARES, slots: SHARES.columns * SHARES.rows, head: group.kind === 'nodes' ? 0.12 : 0.26 };
  const head = group.kind === 'node' ? 0.52 : 0.26;
  const ofNode = Math.ceil(group.gpus / group.members);
  let best = { columns: ofNode, rows: group.members };
  for (let beside = 2; beside <= group.members; beside += 1) {
    const grid = { columns: ofNode * beside, rows: Math.ceil(group.members / beside) };
    const skew = ({ columns, rows }: typeof grid) => Math.abs(Math.log((w / columns) / ((h * (1 - head)) / rows)));
    if (skew(grid) < skew(best)) best = grid;
  }
  return { ...best, slots: group.gpus, head };
}

// Who holds how many of the GPUs, in the order in which they are drawn; the others are free.
function holders(scene: Scene, group: MapGroup): [Ink, number][] {
  const held = group.gpus - group.freeGpus;
  if (scene.colouring === 'tenant') return group.tenants.map((one): [Ink, number] => [tenantInk(one.tenant, scene.context), one.gpus]);
  if (scene.colouring === 'job') return [['accent', group.jobGpus ?? 0], ['dim', held - (group.jobGpus ?? 0)]];
  const drained = group.kind === 'node' || group.kind === 'rack' ? Math.min(group.freeGpus, Math.round((group.gpus * group.drained) / group.members)) : 0;
  return [['accent', held], ['drain', drained]];
}

function drawSlots(pen: Pen, scene: Scene, drawn: Drawn, group: MapGroup, { columns, rows, slots }: SlotGrid, [x, y, w, h]: [number, number, number, number]) {
  const cell = [w / columns, h / rows] as const;
  const run = (from: number, to: number) => {
    for (let row = Math.floor(from / columns); row * columns < to; row += 1) {
      const [first, last] = [Math.max(from - row * columns, 0), Math.min(to - row * columns, columns)];
      pen.fillRect(x + first * cell[0], y + row * cell[1], (last - first) * cell[0], cell[1]);
      drawn.primitives += 1;
      drawn.calls += 1;
    }
  };
  pen.fillStyle = scene.color('line');
  if (slots === columns * rows) {
    pen.fillRect(x, y, w, h);
    drawn.primitives += 1;
    drawn.calls += 1;
  } else run(0, slots);
  let from = 0;
  for (const [ink, gpus] of holders(scene, group)) {
    const to = Math.min(slots, from + (slots * gpus) / group.gpus);
    pen.fillStyle = scene.color(ink);
    run(from, to);
    from = to;
  }
  if (Math.min(cell[0], cell[1]) < SLOT_FROM) return;
  pen.strokeStyle = scene.color('panel');
  pen.lineWidth = Math.max(0.5, Math.min(2, Math.min(cell[0], cell[1]) * 0.25));
  pen.beginPath();
  for (let i = 0; i <= columns; i += 1) {
    pen.moveTo(x + i * cell[0], y);
    pen.lineTo(x + i * cell[0], y + h);
  }
  for (let i = 0; i <= rows; i += 1) {
    pen.moveTo(x, y + i * cell[1]);
    pen.lineTo(x + w, y + i * cell[1]);
  }
  pen.stroke();
  drawn.primitives += 2 + columns + rows;
  drawn.calls += 1;
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
  const beside: [string, number, number][] = []; // labels of what is found or pointed at, and too small to hold one
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
    const grid = h > 8 ? slotGrid(group, w, h) : null;
    const labelled = grid !== null && h * grid.head * 0.8 >= LABELS_FROM;
    const inset = Math.min(4, h * 0.08);
    if (grid) drawSlots(pen, scene, drawn, group, grid, [x + inset, y + (labelled ? h * grid.head : inset), w - 2 * inset, h * (labelled ? 1 - grid.head : 1) - (labelled ? inset : 2 * inset)]);
    const letters = Math.min(11, h * (grid ? grid.head * 0.8 : group.kind === 'node' || group.kind === 'switch' ? 0.5 : 0.3));
    if (letters < LABELS_FROM) {
      if (isFound || selection.hovered === index) beside.push([labelOf(scene, index)[0], x + w / 2, y]);
      return;
    }
    const [first, second] = labelOf(scene, index);
    pen.font = `600 ${letters}px ${scene.font}`;
    pen.fillStyle = scene.color('text');
    pen.textBaseline = 'middle';
    const fits = Math.floor((w - 4) / (letters * 0.62));
    if (grid) {
      const both = `${first}  ${second}`;
      pen.fillText(clipped(second && both.length <= fits ? both : first, fits), x + w / 2, y + (h * grid.head) / 2);
      drawn.primitives += 1;
      drawn.calls += 1;
      return;
    }
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
  drawLabelsBeside(pen, scene, drawn, beside.slice(0, MOST_BESIDE));
}

const MOST_BESIDE = 40; // more would cover each other
function drawLabelsBeside(pen: Pen, scene: Scene, drawn: Drawn, labels: [string, number, number][]) {
  pen.font = `600 11px ${scene.font}`;
  pen.textBaseline = 'middle';
  for (const [text, x, y] of labels) {
    const w = text.length * 6.8 + 8;
    pen.fillStyle = scene.color('panel');
    pen.fillRect(x - w / 2, y - 19, w, 16);
    pen.fillStyle = scene.color('accent');
    pen.fillText(text, x, y - 11);
    drawn.primitives += 2;
    drawn.calls += 2;
  }
}
