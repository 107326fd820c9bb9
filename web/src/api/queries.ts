// What the views read, as query options: the key begins with the noun that events invalidate.
import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { body, client, type Schema } from './client';

const PAGE = 10_000;
export const LIST_LIMIT = 20000;

interface Page<T> {
  items: T[];
  nextCursor?: string | null;
  seq: number;
}

export interface Listed<T> {
  items: T[];
  complete: boolean; // false: there are more than LIST_LIMIT
  seq: number;
}

// Page by page, to a bound: a browser table of more lines than that helps nobody.
async function whole<T>(read: (cursor: string | undefined) => Promise<Page<T>>): Promise<Listed<T>> {
  const items: T[] = [];
  let cursor: string | undefined;
  for (;;) {
    const page = await read(cursor);
    items.push(...page.items);
    if (!page.nextCursor) return { items, complete: true, seq: page.seq };
    if (items.length >= LIST_LIMIT) return { items, complete: false, seq: page.seq };
    cursor = page.nextCursor;
  }
}

const list = <T>(key: readonly unknown[], read: (query: { limit: number; cursor?: string }) => Promise<Page<T>>) =>
  queryOptions({
    queryKey: key,
    queryFn: () => whole((cursor) => read(cursor === undefined ? { limit: PAGE } : { limit: PAGE, cursor })),
    placeholderData: keepPreviousData,
  });

export const fabricQuery = () => queryOptions({ queryKey: ['fabric'], queryFn: () => body(client.GET('/v1/fabric')) });
export const findingsQuery = () =>
  queryOptions({ queryKey: ['topology', 'findings'], queryFn: () => body(client.GET('/v1/fabric/findings')) });
// at: load and errors as they were then. job: whose GPUs and cables are told apart.
export const mapQuery = (within: string | undefined, at?: string, job?: string) =>
  queryOptions({
    queryKey: ['map', within ?? null, at ?? null, job ?? null],
    queryFn: () => body(client.GET('/v1/fabric/map', { params: { query: { ...(within ? { within } : {}), ...(at ? { at } : {}), ...(job ? { job } : {}) } } })),
    placeholderData: keepPreviousData,
  });
export const nodesQuery = () => list(['nodes'], (query) => body(client.GET('/v1/nodes', { params: { query } })));
export const switchesQuery = () =>
  list(['switches'], (query) => body(client.GET('/v1/switches', { params: { query } })));
export const linksQuery = () =>
  list(['links'], (query) => body(client.GET('/v1/links', { params: { query: { ...query, kind: 'infiniband' } } })));
export const linksAtQuery = (end: { switch: string } | { node: string }) =>
  list(['links', end], (query) => body(client.GET('/v1/links', { params: { query: { ...query, ...end } } })));
export const domainsQuery = () =>
  list(['nvlink-domains'], (query) => body(client.GET('/v1/nvlink-domains', { params: { query } })));
export const racksQuery = () => list(['racks'], (query) => body(client.GET('/v1/racks', { params: { query } })));
export const railsQuery = () => list(['rails'], (query) => body(client.GET('/v1/rails', { params: { query } })));
export const subnetsQuery = () => list(['subnets'], (query) => body(client.GET('/v1/subnets', { params: { query } })));
export const changesQuery = (id: string) =>
  queryOptions({
    queryKey: ['subnets', id, 'changes'],
    queryFn: () => body(client.GET('/v1/subnets/{id}/changes', { params: { path: { id } } })),
  });
export const nodeQuery = (id: string) =>
  queryOptions({
    queryKey: ['nodes', id],
    queryFn: () => body(client.GET('/v1/nodes/{id}', { params: { path: { id } } })),
  });
export const switchQuery = (id: string) =>
  queryOptions({
    queryKey: ['switches', id],
    queryFn: () => body(client.GET('/v1/switches/{id}', { params: { path: { id } } })),
  });
export const linkQuery = (id: string) =>
  queryOptions({
    queryKey: ['links', id],
    queryFn: () => body(client.GET('/v1/links/{id}', { params: { path: { id } } })),
    refetchInterval: 5000, // counters have no events
  });
// What ports carried and counted, in the slots that the service keeps. Read again as slots fill.
export type Detail = 'fine' | 'coarse';
const filling = { refetchInterval: 10_000, staleTime: 5_000 };
export const linkHistoryQuery = (id: string, detail: Detail) =>
  queryOptions({ queryKey: ['links', id, 'history', detail], queryFn: () => body(client.GET('/v1/links/{id}/history', { params: { path: { id }, query: { detail } } })), ...filling });
export const switchHistoryQuery = (id: string, detail: Detail) =>
  queryOptions({ queryKey: ['switches', id, 'history', detail], queryFn: () => body(client.GET('/v1/switches/{id}/history', { params: { path: { id }, query: { detail } } })), ...filling });

// Which routes cross it, and which jobs send over it: computed when the link's view asks.
export const linkTrafficQuery = (id: string) =>
  queryOptions({ queryKey: ['links', id, 'traffic'], queryFn: () => body(client.GET('/v1/links/{id}/traffic', { params: { path: { id } } })), retry: false });
export const syncQuery = () =>
  queryOptions({
    queryKey: ['subnets', 'sync'],
    queryFn: () => body(client.GET('/v1/fabric/sync')),
    refetchInterval: 10_000, // phases of subnets have no events of their own
  });
export const readyQuery = () =>
  queryOptions({
    queryKey: ['ready'],
    queryFn: async () => {
      const response = await fetch('/readyz'); // 503 is an answer here, not an error
      return (await response.json()) as Schema['Readiness'];
    },
    refetchInterval: 15_000,
  });
export const leaderQuery = () =>
  queryOptions({ queryKey: ['leader'], queryFn: () => body(client.GET('/v1/leader')), refetchInterval: 3000 });
export const alarmsQuery = () => list(['alarms'], (query) => body(client.GET('/v1/alarms', { params: { query } })));
export const drainsQuery = () => list(['drains'], (query) => body(client.GET('/v1/drains', { params: { query } })));

export const jobsQuery = () => list(['jobs'], (query) => body(client.GET('/v1/jobs', { params: { query } })));
export const jobQuery = (id: string) =>
  queryOptions({ queryKey: ['jobs', id], queryFn: () => body(client.GET('/v1/jobs/{id}', { params: { path: { id } } })) });
export const RANK_LIMIT = 20000;
export const ranksQuery = (id: string) =>
  queryOptions({
    queryKey: ['jobs', id, 'ranks'],
    queryFn: async () => {
      const page = await body(client.GET('/v1/jobs/{id}/ranks', { params: { path: { id }, query: { limit: RANK_LIMIT } } }));
      return page as { items: Schema['Rank'][]; outside: Schema['OutsideLibraries']; nextCursor: string | null; seq: number };
    },
  });
// Which of its GPUs send to which others, as predicted: worked out when it is asked for.
export const jobTrafficQuery = (id: string) =>
  queryOptions({ queryKey: ['jobs', id, 'traffic'], queryFn: () => body(client.GET('/v1/jobs/{id}/traffic', { params: { path: { id } } })), retry: false });
export const jobStepsQuery = (id: string) =>
  queryOptions({ queryKey: ['steps', id], queryFn: () => body(client.GET('/v1/jobs/{id}/steps', { params: { path: { id } } })) });
export const gainsQuery = () => queryOptions({ queryKey: ['steps', 'gains'], queryFn: () => body(client.GET('/v1/gains')) });
export const queueQuery = () => queryOptions({ queryKey: ['queue'], queryFn: () => body(client.GET('/v1/queue')) });
export const waitingQuery = () =>
  list(['queue', 'jobs'], (query) => body(client.GET('/v1/queue/jobs', { params: { query } })));
export const sharesQuery = () =>
  list(['queue', 'shares'], (query) => body(client.GET('/v1/queue/shares', { params: { query } })));
export const strandedQuery = () =>
  queryOptions({ queryKey: ['queue', 'stranded'], queryFn: () => body(client.GET('/v1/queue/stranded')) });
export const policyQuery = () =>
  queryOptions({ queryKey: ['queue', 'policy'], queryFn: () => body(client.GET('/v1/queue/policy')) });
export const defragmentationQuery = () =>
  queryOptions({ queryKey: ['queue', 'defragmentation'], queryFn: () => body(client.GET('/v1/queue/defragmentation')) });
export const reservationsQuery = () =>
  list(['reservations'], (query) => body(client.GET('/v1/reservations', { params: { query } })));

export const tenantsQuery = () => list(['tenants'], (query) => body(client.GET('/v1/tenants', { params: { query } })));
export const contractsQuery = () =>
  list(['contracts'], (query) => body(client.GET('/v1/contracts', { params: { query } })));
export const guaranteesQuery = () =>
  list(['guarantees'], (query) => body(client.GET('/v1/guarantees', { params: { query } })));
export const guaranteedLinksQuery = (top: number) =>
  queryOptions({
    queryKey: ['guarantees', 'links', top],
    queryFn: () => body(client.GET('/v1/guarantees/links', { params: { query: { top } } })),
    retry: false,
  });
export const classesQuery = () =>
  queryOptions({ queryKey: ['qos-classes'], queryFn: () => body(client.GET('/v1/qos-classes')) });
export const routesQuery = () =>
  queryOptions({ queryKey: ['routes'], queryFn: () => body(client.GET('/v1/routes')), retry: false });
export const auditQuery = () =>
  queryOptions({ queryKey: ['routes', 'audit'], queryFn: () => body(client.GET('/v1/routes/audit')), retry: false });
export const pathQuery = (from: string, to: string) =>
  queryOptions({
    queryKey: ['routes', 'path', from, to],
    queryFn: () => body(client.GET('/v1/routes/path', { params: { query: { from, to } } })),
    retry: false,
  });
export const tableQuery = (id: string) =>
  list(['routes', 'table', id], (query) =>
    body(client.GET('/v1/switches/{id}/forwarding-table', { params: { path: { id }, query } })),
  );

// The events after the `count` before a sequence number: read backwards is not in the contract.
export interface EventFilter {
  subject?: string; // "link/ID"
  types?: string[];
}
export const recentEventsQuery = (seq: number, count: number, filter: EventFilter = {}) =>
  queryOptions({
    queryKey: ['events', Math.max(0, seq - count), filter],
    queryFn: async () => {
      const query = { after: Math.max(0, seq - count), limit: Math.min(count, 10_000), ...(filter.subject ? { subject: filter.subject } : {}), ...(filter.types ? { type: filter.types } : {}) };
      return (await body(client.GET('/v1/events', { params: { query } }))).items;
    },
  });
