// Who of a job talks to whom, as a matrix: a cell for each two GPUs, or nodes, of which one sends to the other. Pure.
import type { Schema } from '../../api/client';
import type { Pen } from '../map/draw';

export type JobTraffic = Schema['JobTraffic'];
export type Pair = JobTraffic['pairs'][number];
export type Over = Pair['over'];
export type PairColouring = 'over' | 'rate';

export const OVER: [Over, string, string][] = [
  ['nvlink', 'c3', 'NVLink'],
  ['host', 'c7', 'inside a node'],
  ['leaf', 'c1', 'up to one leaf'],
  ['network', 'c2', 'over spines'],
  ['sites', 'c8', 'between sites'],
];

// Share of the pair that sends most: five steps of one colour.
export const STEPS = [0.05, 0.2, 0.5, 0.8];
export const stepOf = (share: number) => STEPS.filter((step) => share >= step).length;
export const ALPHAS = [0.15, 0.35, 0.55, 0.78, 1];

export interface PairGrid {
  left: number;
  top: number;
  cell: number;
}

const LARGEST = 22;
const NAMED_FROM = 9; // pixels of a row whose name can be read
export function pairGrid(ends: number, width: number, height: number): PairGrid {
  const fit = (left: number): PairGrid => ({ left, top: 20, cell: Math.max(0.5, Math.min(LARGEST, (width - left - 8) / ends, (height - 28) / ends)) });
  const named = fit(Math.min(150, width * 0.3));
  return named.cell >= NAMED_FROM ? named : fit(20);
}

export function pairAt(traffic: JobTraffic, grid: PairGrid, x: number, y: number): Pair | null {
  const to = Math.floor((x - grid.left) / grid.cell);
  const from = Math.floor((y - grid.top) / grid.cell);
  return traffic.pairs.find((pair) => pair.from === from && pair.to === to) ?? null;
}

export const sentOf = (pair: Pair) => pair.gbps ?? pair.bytes;

interface Shown {
  colouring: PairColouring;
  color: (ink: string) => string;
  font: string;
  marked: Pair | null;
}

export function drawPairs(pen: Pen, traffic: JobTraffic, grid: PairGrid, { colouring, color, font, marked }: Shown): number {
  const { ends, pairs } = traffic;
  const side = grid.cell * ends.length;
  const gap = grid.cell > 5 ? 1 : 0;
  const most = Math.max(1e-9, ...pairs.map(sentOf));
  let primitives = 1;
  pen.fillStyle = color('panel-2');
  pen.fillRect(grid.left, grid.top, side, side);
  for (const pair of pairs) {
    if (pair.to === null) continue;
    pen.fillStyle = color(colouring === 'over' ? OVER.find(([over]) => over === pair.over)![1] : 'accent');
    pen.globalAlpha = colouring === 'over' ? 1 : ALPHAS[stepOf(sentOf(pair) / most)]!;
    pen.fillRect(grid.left + pair.to * grid.cell, grid.top + pair.from * grid.cell, Math.max(grid.cell - gap, 0.5), Math.max(grid.cell - gap, 0.5));
    primitives += 1;
  }
  pen.globalAlpha = 1;
  pen.font = `11px ${font}`;
  pen.textAlign = 'left';
  pen.textBaseline = 'middle';
  pen.fillStyle = color('dim');
  pen.fillText(grid.left > 60 ? 'from' : '', 6, 10);
  pen.fillText(`to ${ends.length} ${traffic.by === 'gpu' ? 'GPUs, in the order of ranks' : 'nodes'}`, grid.left, 10);
  if (grid.left > 60) ends.forEach((end, i) => pen.fillText(end.length > 22 ? `…${end.slice(-21)}` : end, 6, grid.top + (i + 0.5) * grid.cell));
  primitives += 2 + (grid.left > 60 ? ends.length : 0);
  if (marked && marked.to !== null) {
    pen.strokeStyle = color('text');
    pen.lineWidth = 2;
    pen.strokeRect(grid.left + marked.to * grid.cell - 1, grid.top + marked.from * grid.cell - 1, grid.cell + 2, grid.cell + 2);
    primitives += 1;
  }
  return primitives;
}

export const nodeOf = (traffic: JobTraffic, at: number) => (traffic.by === 'gpu' ? traffic.ends[at]!.replace(/\/\d+$/, '') : traffic.ends[at]!);

export const PAIR_COLUMNS = ['From', 'To', 'Bytes a step', 'Gb/s in the mean', 'Over', 'Groups'];
export const pairRows = (traffic: JobTraffic): (string | number | null)[][] => traffic.pairs.map((pair) => [traffic.ends[pair.from]!, pair.to === null ? 'switches' : traffic.ends[pair.to]!, pair.bytes, pair.gbps, pair.over, pair.groups.join(' ')]);

// What the pairs come to, by how far they go.
export function totals(traffic: JobTraffic): { over: Over; pairs: number; bytes: number }[] {
  return OVER.map(([over]) => {
    const own = traffic.pairs.filter((pair) => pair.over === over);
    return { over, pairs: own.length, bytes: own.reduce((sum, pair) => sum + pair.bytes, 0) };
  }).filter((one) => one.pairs > 0);
}
