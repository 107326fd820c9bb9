// Leaves against spines as a matrix: a cell for each two switches with cables between them, in the colour of what is asked
// about. Where thousands of cables would be one grey area, a switch that is wrong is a line of cells and a cable one cell.
import type { FabricMap } from './layout';
import { bundleInk, type Colouring, type Ink, type PaintContext } from './paint';
import { clipped, NARROW, type Pen } from './draw';

export interface Matrix {
  rows: number[]; // groups of the lower tier, as positions in map.groups
  columns: number[]; // of the one above
  cells: { row: number; column: number; bundle: number }[];
}

const collator = new Intl.Collator('en', { numeric: true });

// The two lowest tiers of switches; null where there are no cables between two tiers.
export function matrixOf(map: FabricMap): Matrix | null {
  const ofTier = (tier: number) =>
    map.groups
      .flatMap((group, at) => ((group.kind === 'switch' || group.kind === 'switches') && group.tier === tier ? [at] : []))
      .sort((a, b) => collator.compare(map.groups[a]!.subnet ?? '', map.groups[b]!.subnet ?? '') || collator.compare(map.groups[a]!.name, map.groups[b]!.name));
  const rows = ofTier(0);
  const columns = ofTier(1);
  const rowOf = new Map(rows.map((group, i) => [group, i]));
  const columnOf = new Map(columns.map((group, i) => [group, i]));
  const cells = map.bundles.flatMap((bundle, at) => {
    const row = rowOf.get(bundle.from) ?? rowOf.get(bundle.to);
    const column = columnOf.get(bundle.from) ?? columnOf.get(bundle.to);
    return row === undefined || column === undefined ? [] : [{ row, column, bundle: at }];
  });
  return cells.length > 0 ? { rows, columns, cells } : null;
}

export interface Grid {
  left: number; // room for the names of rows
  top: number;
  w: number; // of a cell
  h: number;
}

const LARGEST = 26;
const WIDEST = 74; // where there is room, so that the names of columns can be read
const COLUMNS_NAMED_FROM = 46;
const TOOLS = { wide: 62, narrow: 12 }; // at the right edge
const NAMED_FROM = 9; // pixels of a row whose name can be read
export function gridOf(matrix: Matrix, width: number, height: number): Grid {
  const fit = (left: number, top: number): Grid => ({ left, top, w: Math.min(WIDEST, (width - left - (width < NARROW ? TOOLS.narrow : TOOLS.wide)) / matrix.columns.length), h: Math.min(LARGEST, (height - top - 12) / matrix.rows.length) });
  const named = fit(150, 24);
  return named.h >= NAMED_FROM ? named : fit(24, 24);
}

export function cellAt(matrix: Matrix, grid: Grid, x: number, y: number): number | null {
  const column = Math.floor((x - grid.left) / grid.w);
  const row = Math.floor((y - grid.top) / grid.h);
  return matrix.cells.find((cell) => cell.row === row && cell.column === column)?.bundle ?? null;
}

// The matrix as a table: a line for each cell.
export function matrixRows(map: FabricMap, matrix: Matrix): (string | number | null)[][] {
  return matrix.cells.map(({ row, column, bundle }) => {
    const { links, rateGbps, down, degraded, held, unknown, drained, utilisation, errors } = map.bundles[bundle]!;
    return [map.groups[matrix.rows[row]!]!.name, map.groups[matrix.columns[column]!]!.name, links, rateGbps, utilisation, errors?.perHour ?? null, down, degraded, held, unknown, drained];
  });
}
export const MATRIX_COLUMNS = ['Leaf', 'Spine', 'Cables', 'Gb/s', 'Utilisation of the fullest', 'Errors an hour of the worst', 'Down', 'Degraded', 'Held', 'Not seen', 'Drained'];

const ORDER: Ink[] = ['line', 'dim', 'unknown', 'ok', 'c7', 'accent', 'drain', 'warn', 'bad'];

interface Shown {
  colouring: Colouring;
  context: PaintContext;
  color: (ink: Ink | 'text') => string;
  font: string;
  marked: number | null; // a bundle
  found: ReadonlySet<number>; // groups
}

export function drawMatrix(pen: Pen, map: FabricMap, matrix: Matrix, grid: Grid, shown: Shown): number {
  let primitives = 0;
  const gap = Math.min(grid.w, grid.h) > 4 ? 1 : 0;
  const byInk = grouped(matrix.cells, (cell) => bundleInk(map.bundles[cell.bundle]!, shown.colouring, shown.context));
  for (const [ink, cells] of [...byInk].sort(([a], [b]) => ORDER.indexOf(a) - ORDER.indexOf(b))) {
    pen.fillStyle = shown.color(ink === 'line' ? 'dim' : ink);
    for (const { row, column, bundle } of cells) {
      const sought = shown.found.size === 0 || shown.found.has(matrix.rows[row]!) || shown.found.has(matrix.columns[column]!);
      pen.globalAlpha = bundle === shown.marked ? 1 : (ink === 'line' ? 0.45 : 1) * (sought ? 1 : 0.25);
      pen.fillRect(grid.left + column * grid.w, grid.top + row * grid.h, Math.max(grid.w - gap, 0.5), Math.max(grid.h - gap, 0.5));
      primitives += 1;
    }
  }
  pen.globalAlpha = 1;
  pen.font = `11px ${shown.font}`;
  pen.textBaseline = 'middle';
  pen.textAlign = 'left';
  pen.fillStyle = shown.color('dim');
  if (grid.w < COLUMNS_NAMED_FROM) pen.fillText(`${matrix.columns.length} spines`, grid.left, 12);
  else matrix.columns.forEach((group, column) => pen.fillText(clipped(map.groups[group]!.name, Math.floor(grid.w / 6.8)), grid.left + column * grid.w, 12));
  if (grid.left > 100) matrix.rows.forEach((group, row) => pen.fillText(map.groups[group]!.name.slice(-20), 8, grid.top + (row + 0.5) * grid.h));
  primitives += (grid.w < COLUMNS_NAMED_FROM ? 1 : matrix.columns.length) + (grid.left > 100 ? matrix.rows.length : 0);
  const cell = shown.marked === null ? undefined : matrix.cells.find((one) => one.bundle === shown.marked);
  if (cell) {
    pen.strokeStyle = shown.color('accent');
    pen.lineWidth = 2;
    pen.strokeRect(grid.left + cell.column * grid.w - 1, grid.top + cell.row * grid.h - 1, grid.w + 2, grid.h + 2);
    primitives += 1;
  }
  return primitives;
}

function grouped<T, K>(items: T[], key: (item: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>();
  for (const item of items) {
    const own = groups.get(key(item));
    if (own) own.push(item);
    else groups.set(key(item), [item]);
  }
  return groups;
}
