// Colours of the map, by what the user wants to see.
import type { MapBundle, MapGroup } from './layout';

export type Colouring = 'state' | 'load' | 'errors' | 'gpus' | 'tenant' | 'reserved' | 'against' | 'job';
export const COLOURINGS: [Colouring, string][] = [
  ['state', 'State and drains'],
  ['load', 'Load'],
  ['errors', 'Errors'],
  ['reserved', 'Reserved'],
  ['against', 'Used against reserved'],
  ['gpus', 'GPUs used'],
  ['tenant', 'Tenant'],
];

export type Ink = 'unknown' | 'line' | 'ok' | 'warn' | 'bad' | 'drain' | 'accent' | 'dim' | 'panel' | `c${number}`;

// Bands of load as operators read them: quiet, 60 to 80%, to 95%, above.
export function band(share: number): Ink {
  if (share > 0.95) return 'bad';
  if (share > 0.8) return 'warn';
  if (share >= 0.6) return 'accent';
  return 'ok';
}

// Of one job: what a cable carries of it in the mean over a step is seldom near its rate.
export function jobBand(share: number): Ink {
  if (share > 0.8) return 'bad';
  if (share > 0.4) return 'warn';
  return share >= 0.1 ? 'c7' : 'ok';
}

export interface PaintContext {
  alarmed: Map<string, 'warning' | 'critical'>; // device name or link id
  reserved: Map<string, { fullest: number; ofLink: number }>; // link id -> of its class, and of the whole link
  tenants: string[];
}

export function tenantInk(tenant: string, context: PaintContext): Ink {
  return `c${((([...new Set(context.tenants)].sort().indexOf(tenant) % 8) + 8) % 8) + 1}`;
}

export function groupInk(group: MapGroup, colouring: Colouring, context: PaintContext): Ink {
  if (colouring === 'state') {
    const alarm = context.alarmed.get(group.name);
    if (alarm === 'critical') return 'bad';
    if (group.drained > 0) return 'drain';
    if (alarm === 'warning' || group.linksDown > 0 || group.linksHeld > 0) return 'warn';
    if (group.linksUnknown > 0) return 'unknown'; // never "in order"
    return 'dim';
  }
  if (colouring === 'errors') return 'dim';
  if (colouring === 'job') return group.jobGpus ? 'accent' : 'dim';
  if (colouring === 'gpus') return group.gpus === 0 ? 'dim' : group.freeGpus === group.gpus ? 'line' : band(1 - group.freeGpus / group.gpus);
  if (colouring === 'tenant') {
    const most = [...group.tenants].sort((a, b) => b.gpus - a.gpus)[0];
    if (!most) return 'line';
    return tenantInk(most.tenant, context);
  }
  return 'dim';
}

// Rates of errors, by the levels at which alarms are raised.
const GRADES: Record<NonNullable<MapBundle['errors']>['grade'], Ink> = { none: 'ok', some: 'accent', warning: 'warn', critical: 'bad' };

export function bundleInk(bundle: MapBundle, colouring: Colouring, context: PaintContext): Ink {
  if (bundle.unknown > 0 && (colouring === 'load' || colouring === 'errors' || colouring === 'against')) return 'line'; // what was read last is not now
  if (colouring === 'job') return bundle.job ? jobBand(bundle.job.share) : 'line';
  if (colouring === 'load') return bundle.utilisation === null ? 'line' : band(bundle.utilisation);
  if (colouring === 'reserved') {
    const share = bundle.link ? context.reserved.get(bundle.link)?.fullest : undefined;
    return share === undefined ? 'line' : band(share);
  }
  if (colouring === 'against') {
    // What is measured of a link beside what all guarantees reserve of it: more is used than was promised, or less.
    const share = bundle.link ? context.reserved.get(bundle.link)?.ofLink : undefined;
    if (bundle.utilisation === null || (share === undefined && bundle.utilisation === 0)) return 'line';
    if (share === undefined || share === 0) return 'dim';
    return bundle.utilisation > share ? 'bad' : bundle.utilisation > 0.8 * share ? 'warn' : 'ok';
  }
  if (colouring === 'errors') return bundle.errors ? GRADES[bundle.errors.grade] : 'line';
  if (bundle.down > 0) return 'bad';
  if (bundle.unknown > 0) return 'unknown';
  if (bundle.drained > 0) return 'drain';
  if (bundle.degraded > 0 || bundle.held > 0) return 'warn';
  if (colouring === 'state' && bundle.link && context.alarmed.has(bundle.link)) return context.alarmed.get(bundle.link) === 'critical' ? 'bad' : 'warn';
  return 'line';
}
