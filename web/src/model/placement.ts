// Where a job's ranks run, arranged as racks, NVLink domains and nodes, to be drawn.
import type { Schema } from '../api/client';

export type Rank = Schema['Rank'];
export type Coordinate = 'pp' | 'tp' | 'dp' | 'cp' | 'ep';
export const COORDINATES: [Coordinate, string][] = [
  ['pp', 'Pipeline stage'],
  ['dp', 'Data replica'],
  ['tp', 'Tensor rank'],
  ['cp', 'Context rank'],
  ['ep', 'Expert rank'],
];

export interface PlacedHost {
  node: string;
  gpus: Map<number, Rank>; // by index on the node
  size: number; // GPUs of the node
}
export interface PlacedRack {
  name: string;
  hosts: PlacedHost[];
}

// Racks in the order of their first rank; a node's GPUs are all drawn, those of others too.
export function arrange(ranks: Rank[], rackOf: (node: string) => string, sizeOf: (node: string) => number): PlacedRack[] {
  const hosts = new Map<string, PlacedHost>();
  const racks = new Map<string, PlacedRack>();
  for (const rank of ranks) {
    let host = hosts.get(rank.node);
    if (!host) {
      host = { node: rank.node, gpus: new Map(), size: Math.max(sizeOf(rank.node), 1) };
      hosts.set(rank.node, host);
      const name = rackOf(rank.node);
      const rack = racks.get(name) ?? { name, hosts: [] };
      racks.set(name, rack);
      rack.hosts.push(host);
    }
    host.gpus.set(rank.gpu, rank);
    host.size = Math.max(host.size, rank.gpu + 1);
  }
  return [...racks.values()];
}

// Coordinates that differ between ranks, most telling first: the others would colour everything alike.
export function telling(ranks: Rank[]): Coordinate[] {
  return COORDINATES.map(([name]) => name).filter((name) => new Set(ranks.map((rank) => rank[name])).size > 1);
}

// GPUs of each rail that the job sends through, by the rail's number.
export function byRail(ranks: Rank[]): [number, number][] {
  const counts = new Map<number, number>();
  for (const rank of ranks) {
    const rail = rank.nics[0]?.rail;
    if (rail !== null && rail !== undefined) counts.set(rail, (counts.get(rail) ?? 0) + 1);
  }
  return [...counts].sort((a, b) => a[0] - b[0]);
}
