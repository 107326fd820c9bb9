// The cables of the map as lines: each bundle one, or, where ordinary ones are too many to be told apart, one wide line for
// all between two cells of the map; what tells something, and what belongs to what is pointed at, is a line of its own then too.
import type { Box, FabricMap, Layout } from './layout';
import { bundleInk, type Colouring, type Ink, type PaintContext } from './paint';

export interface Strand {
  bundles: number[]; // positions in map.bundles
  links: number;
  ink: Ink;
  band: boolean; // of a whole cell
  x1: number; // of the map, from the upper end to the lower
  y1: number;
  x2: number;
  y2: number;
}

export const MOST_ORDINARY = 1500; // lines of no news that are still a picture and not a grey area

type Line = Pick<Strand, 'x1' | 'y1' | 'x2' | 'y2'>;
function between(a: Pick<Box, 'x' | 'y' | 'w' | 'h'>, b: Pick<Box, 'x' | 'y' | 'w' | 'h'>): Line {
  const [upper, lower] = a.y <= b.y ? [a, b] : [b, a];
  const level = upper.y === lower.y;
  return { x1: upper.x + upper.w / 2, y1: level ? upper.y + upper.h / 2 : upper.y + upper.h, x2: lower.x + lower.w / 2, y2: level ? lower.y + lower.h / 2 : lower.y };
}

export function strandsOf(map: FabricMap, layout: Layout, colouring: Colouring, context: PaintContext, pointedAt: ReadonlySet<number>): Strand[] {
  const inks = map.bundles.map((bundle) => bundleInk(bundle, colouring, context));
  const crowded = inks.filter((ink) => ink === 'line').length > MOST_ORDINARY;
  const single: Strand[] = [];
  const bands = new Map<string, Strand>();
  map.bundles.forEach((bundle, at) => {
    const ink = inks[at]!;
    const own = !crowded || ink !== 'line' || pointedAt.has(bundle.from) || pointedAt.has(bundle.to);
    if (own) single.push({ bundles: [at], links: bundle.links, ink, band: false, ...between(layout.boxes[bundle.from]!, layout.boxes[bundle.to]!) });
    if (!crowded || ink !== 'line') return;
    const cells = [layout.cellOf[bundle.from]!, layout.cellOf[bundle.to]!];
    const key = `${cells[0]}/${cells[1]}`;
    const band = bands.get(key) ?? { bundles: [], links: 0, ink: 'line' as Ink, band: true, ...between(layout.cells[cells[0]!]!, layout.cells[cells[1]!]!) };
    band.bundles.push(at);
    band.links += bundle.links;
    bands.set(key, band);
  });
  return [...bands.values(), ...single];
}

function distance({ x1, y1, x2, y2 }: Line, x: number, y: number): number {
  const [dx, dy] = [x2 - x1, y2 - y1];
  const along = Math.max(0, Math.min(1, ((x - x1) * dx + (y - y1) * dy) / (dx * dx + dy * dy || 1)));
  return Math.hypot(x - x1 - along * dx, y - y1 - along * dy);
}

// The line at a point of the map, within `reach`: one of its own before a band.
export function strandAt(strands: Strand[], x: number, y: number, reach: number): Strand | null {
  let best: Strand | null = null;
  let nearest = reach;
  for (const strand of strands) {
    const away = distance(strand, x, y) + (strand.band ? reach / 2 : 0);
    if (away > nearest) continue;
    nearest = away;
    best = strand;
  }
  return best;
}

// What two groups are joined by, in words: "leaf-3 and spine-1", or of a band the cells it joins.
export function endsOf(map: FabricMap, strand: Strand): string {
  const names = (end: 'from' | 'to') => [...new Set(strand.bundles.map((at) => map.groups[map.bundles[at]![end]]!).map((group) => (strand.band ? `${group.region ?? 'others'} ${group.tier === null ? 'nodes' : `tier ${group.tier}`}` : group.name || (group.subnet ?? 'others'))))];
  const text = (all: string[]) => (all.length > 2 ? `${all.slice(0, 2).join(', ')} and ${all.length - 2} more` : all.join(', '));
  return `${text(names('from'))} and ${text(names('to'))}`;
}
