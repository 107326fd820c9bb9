// Where the groups of the map stand. Tiers are rows, spines on top, leaves below them, nodes at the bottom; a region is a
// column, so that what belongs together stands together. Pure: the same map gives the same places.
import type { Schema } from '../api/client';

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

export interface Layout {
  boxes: Box[]; // in the order of `groups`
  columns: Column[];
  rows: { name: string; y: number; h: number }[];
  width: number;
  height: number;
}

const GAP = 6;
const COLUMN_GAP = 40;
const ROW_GAP = 70;
const ASPECT = 0.5; // height by width: rows move apart until the map fills its box
const WRAP = 24; // boxes beside each other before a column's row is folded

function size(group: MapGroup): [number, number] {
  switch (group.kind) {
    case 'node':
      return [70, 26];
    case 'switch':
      return [78, 22];
    case 'rack':
      return [84, 40];
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

export function layoutMap(map: FabricMap): Layout {
  const tiers = [...new Set(map.groups.filter(isSwitch).map((group) => group.tier ?? -1))].sort((a, b) => b - a);
  const levels: { name: string; has: (group: MapGroup) => boolean }[] = [
    ...tiers.map((tier) => ({
      name: tier < 0 ? 'Unconnected' : tier === 0 ? 'Leaves' : tiers.length > 2 && tier === tiers[0] ? 'Cores' : 'Spines',
      has: (group: MapGroup) => isSwitch(group) && (group.tier ?? -1) === tier,
    })),
    { name: 'Nodes', has: (group) => !isSwitch(group) },
  ];
  const regions = [...new Set(map.groups.map((group) => group.region ?? ''))].filter((name) => name !== '').sort(collator.compare);
  const place = new Map<MapGroup, Box>();

  // What is in a region stands in its column; what is in none is centred over all columns.
  const cells = (level: (typeof levels)[number], region: string) =>
    map.groups.filter((group) => level.has(group) && (group.region ?? '') === region).sort(byName);
  const block = (groups: MapGroup[]) => {
    const fold = groups[0]?.kind === 'switches' ? 4 : WRAP; // planes of a region stand four by four
    const perRow = Math.max(1, Math.min(groups.length, Math.max(fold, Math.ceil(Math.sqrt(groups.length * (fold === 4 ? 2 : 8))))));
    const [w, h] = groups[0] ? size(groups[0]) : [0, 0];
    return { perRow, w, h, width: perRow * (w + GAP) - GAP, height: Math.ceil(groups.length / perRow) * (h + GAP) - GAP };
  };

  const columns: Column[] = [];
  let x = 0;
  for (const region of regions) {
    const w = Math.max(140, ...levels.map((level) => (cells(level, region).length > 0 ? block(cells(level, region)).width : 0)));
    columns.push({ name: region, x, w });
    x += w + COLUMN_GAP;
  }
  const free = Math.max(0, ...levels.map((level) => (cells(level, '').length > 0 ? block(cells(level, '')).width : 0)));
  const width = Math.max(x - (columns.length > 0 ? COLUMN_GAP : 0), free, 1);

  const used = levels.reduce((sum, level) => sum + Math.max(0, ...['', ...regions].map((region) => { const own = cells(level, region); return own.length > 0 ? block(own).height : 0; })), 0);
  const rowGap = Math.min(2400, Math.max(ROW_GAP, (width * ASPECT - used) / Math.max(1, levels.length - 1)));
  const rows: Layout['rows'] = [];
  let y = 0;
  for (const level of levels) {
    let deepest = 0;
    const lay = (groups: MapGroup[], left: number, within: number) => {
      if (groups.length === 0) return;
      const at = block(groups);
      groups.forEach((group, i) => {
        const inRow = Math.floor(i / at.perRow);
        const here = Math.min(at.perRow, groups.length - inRow * at.perRow);
        const indent = (within - (here * (at.w + GAP) - GAP)) / 2;
        place.set(group, { group, x: left + indent + (i % at.perRow) * (at.w + GAP), y: y + inRow * (at.h + GAP), w: at.w, h: at.h });
      });
      deepest = Math.max(deepest, at.height);
    };
    lay(cells(level, ''), 0, width);
    const shift = deepest > 0 && columns.some((column) => cells(level, column.name).length > 0) ? deepest + GAP * 3 : 0;
    y += shift;
    deepest = shift > 0 ? 0 : deepest;
    for (const column of columns) lay(cells(level, column.name), column.x, column.w);
    if (deepest === 0 && shift === 0) continue;
    rows.push({ name: level.name, y: y - shift, h: deepest + shift });
    y += deepest + rowGap;
  }
  return { boxes: map.groups.map((group) => place.get(group)!), columns, rows, width, height: Math.max(1, y - rowGap) };
}
