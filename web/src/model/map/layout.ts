// Where the groups of the map stand. Tiers are rows, spines on top, leaves below them, nodes at the bottom; a region is a
// column, so that what belongs together stands together. Pure: the same map gives the same places.
import type { Schema } from '../../api/client';

export type MapGroup = Schema['FabricMap']['groups'][number];
export type MapBundle = Schema['FabricMap']['bundles'][number];
export type FabricMap = Schema['FabricMap'];

export interface Box {
  group: MapGroup;
  x: number;
  y: number;
  w: number;
  h: number;
}

export interface Column {
  name: string; // of the region; empty: what is in none
  x: number;
  w: number;
}

export interface Cell {
  x: number;
  y: number;
  w: number;
  h: number;
}

export interface Layout {
  boxes: Box[]; // in the order of `groups`
  columns: Column[];
  rows: { name: string; y: number; h: number }[];
  cells: Cell[]; // what a region has of a row, for bundles of many cables
  cellOf: number[]; // of each group
  width: number;
  height: number;
}

const GAP = 6;
const COLUMN_GAP = 40;
const ROW_GAP = 70;
const ASPECT = 0.5; // height by width, of a wide box: rows move apart until the map fills its box
const FOLDS = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48]; // boxes beside each other before a column's row is folded
const PLANES = 4; // of a region stand four by four

function size(group: MapGroup): [number, number] {
  switch (group.kind) {
    case 'node':
      return [78, 34]; // its name, and a slot for each GPU
    case 'switch':
      return [78, 22];
    case 'rack':
      return [128, 76]; // a row of slots for each of its nodes
    case 'nodes':
      return [530, 400]; // as wide as the planes above: its GPUs are drawn as slots
    default:
      return [128, 50];
  }
}

function isSwitch(group: MapGroup) {
  return group.kind === 'switch' || group.kind === 'switches';
}

const collator = new Intl.Collator('en', { numeric: true });

function byName(a: MapGroup, b: MapGroup) {
  return collator.compare(a.subnet ?? '', b.subnet ?? '') || collator.compare(a.name, b.name);
}

interface Level {
  name: string;
  own: (region: string) => MapGroup[]; // its groups of a region, in order; '' for those in none
}

function levelsOf(map: FabricMap): Level[] {
  const tiers = [...new Set(map.groups.filter(isSwitch).map((group) => group.tier ?? -1))].sort((a, b) => b - a);
  const level = (name: string, has: (group: MapGroup) => boolean): Level => {
    const byRegion = new Map<string, MapGroup[]>();
    for (const group of map.groups) {
      if (!has(group)) continue;
      const region = group.region ?? '';
      const own = byRegion.get(region);
      if (own) own.push(group);
      else byRegion.set(region, [group]);
    }
    for (const groups of byRegion.values()) groups.sort(byName);
    return { name, own: (region) => byRegion.get(region) ?? [] };
  };
  return [
    ...tiers.map((tier) => level(tier < 0 ? 'Unconnected' : tier === 0 ? 'Leaves' : tiers.length > 2 && tier === tiers[0] ? 'Cores' : 'Spines', (group) => isSwitch(group) && (group.tier ?? -1) === tier)),
    level('Nodes', (group) => !isSwitch(group)),
  ];
}

// Folded so that the devices are drawn as large as the box of the map allows.
export function layoutMap(map: FabricMap, aspect = ASPECT): Layout {
  const levels = levelsOf(map);
  const places = FOLDS.map((fold) => layoutFolded(map, levels, fold, aspect));
  const scale = ({ layout, used }: (typeof places)[number]) => Math.min(1 / layout.width, aspect / used);
  return places.reduce((best, one) => (scale(one) > scale(best) * 1.001 ? one : best)).layout;
}

function block(groups: MapGroup[], most: number) {
  const planes = groups[0]?.kind === 'switches';
  const perRow = Math.max(1, Math.min(groups.length, planes ? Math.max(PLANES, Math.ceil(Math.sqrt(groups.length * 2))) : most));
  const [w, h] = groups[0] ? size(groups[0]) : [0, 0];
  return { perRow, w, h, width: perRow * (w + GAP) - GAP, height: Math.ceil(groups.length / perRow) * (h + GAP) - GAP };
}

// folded: boxes beside each other in a region. What is in a region stands in its column, what is in none is centred over all.
function layoutFolded(map: FabricMap, levels: Level[], folded: number, aspect: number): { layout: Layout; used: number } {
  const regions = [...new Set(map.groups.map((group) => group.region ?? ''))].filter((name) => name !== '').sort(collator.compare);
  const place = new Map<MapGroup, Box>();
  const columns: Column[] = [];
  let x = 0;
  for (const region of regions) {
    const w = Math.max(140, ...levels.map((level) => (level.own(region).length > 0 ? block(level.own(region), folded).width : 0)));
    columns.push({ name: region, x, w });
    x += w + COLUMN_GAP;
  }
  const beside = Math.max(x - (columns.length > 0 ? COLUMN_GAP : 0), 0);
  const across = (groups: MapGroup[]) => block(groups, columns.length > 0 ? Math.max(1, Math.floor((beside + GAP) / ((groups[0] ? size(groups[0])[0] : 1) + GAP))) : folded);
  const free = Math.max(0, ...levels.map((level) => (level.own('').length > 0 ? across(level.own('')).width : 0)));
  const width = Math.max(beside, free, 1);

  const heights = levels.map((level) => {
    const own = level.own('');
    const above = own.length > 0 ? across(own).height : 0;
    const below = Math.max(0, ...regions.map((region) => (level.own(region).length > 0 ? block(level.own(region), folded).height : 0)));
    return above + (above > 0 && below > 0 ? GAP * 3 : 0) + below;
  });
  const used = heights.reduce((sum, height) => sum + height, 0);
  const rowGap = Math.min(2400, Math.max(ROW_GAP, (width * aspect - used) / Math.max(1, levels.length - 1)));
  const rows: Layout['rows'] = [];
  const cells_: Cell[] = [];
  const cellOf = new Map<MapGroup, number>();
  let y = 0;
  for (const level of levels) {
    let deepest = 0;
    const lay = (groups: MapGroup[], left: number, within: number, at = block(groups, folded)) => {
      if (groups.length === 0) return;
      cells_.push({ x: left + (within - at.width) / 2, y, w: at.width, h: at.height });
      groups.forEach((group, i) => {
        cellOf.set(group, cells_.length - 1);
        const inRow = Math.floor(i / at.perRow);
        const here = Math.min(at.perRow, groups.length - inRow * at.perRow);
        const indent = (within - (here * (at.w + GAP) - GAP)) / 2;
        place.set(group, { group, x: left + indent + (i % at.perRow) * (at.w + GAP), y: y + inRow * (at.h + GAP), w: at.w, h: at.h });
      });
      deepest = Math.max(deepest, at.height);
    };
    lay(level.own(''), 0, width, across(level.own('')));
    const shift = deepest > 0 && columns.some((column) => level.own(column.name).length > 0) ? deepest + GAP * 3 : 0;
    y += shift;
    deepest = shift > 0 ? 0 : deepest;
    for (const column of columns) lay(level.own(column.name), column.x, column.w);
    if (deepest === 0 && shift === 0) continue;
    rows.push({ name: level.name, y: y - shift, h: deepest + shift });
    y += deepest + rowGap;
  }
  const layout = { boxes: map.groups.map((group) => place.get(group)!), columns, rows, cells: cells_, cellOf: map.groups.map((group) => cellOf.get(group)!), width, height: Math.max(1, y - rowGap) };
  return { layout, used: used + ROW_GAP * Math.max(0, rows.length - 1) };
}
