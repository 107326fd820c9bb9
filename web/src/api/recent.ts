// The last events, live: read once, then followed by the stream; read again only where the stream has dropped some.
import { useQuery } from '@tanstack/react-query';
import { useEffect, useMemo, useState } from 'react';
import { hasHole, newestFirst } from '../model/session/recent';
import { KEPT, useLive, type FabricEvent } from './events';
import { fabricQuery, recentEventsQuery, type EventFilter } from './queries';

const ALL: EventFilter = {};

function matches(event: FabricEvent, { subject, types }: EventFilter): boolean {
  return (subject === undefined || `${event.subject.kind}/${event.subject.id}` === subject) && (types === undefined || types.includes(event.type));
}

export interface Recent {
  data: FabricEvent[] | undefined; // newest first
  error: unknown;
  isPending: boolean;
  refetch: () => unknown;
}

// Of the last `span` events those that the filter lets through, which must be the same object from render to render.
export function useRecent(span: number, filter: EventFilter = ALL): Recent {
  const live = useLive();
  const fabric = useQuery(fabricQuery());
  const [base, setBase] = useState<number>();
  const seq = Math.max(fabric.data?.seq ?? 0, live.seq);
  const page = useQuery({ ...recentEventsQuery(base ?? 0, span, filter), enabled: base !== undefined, placeholderData: (before) => before });
  const hole = base === undefined ? seq > 0 || fabric.data !== undefined : page.data !== undefined && hasHole(base, live.events, KEPT);
  useEffect(() => {
    if (hole) setBase(seq);
  }, [hole, seq]);
  const data = useMemo(
    () => page.data && newestFirst(page.data, live.events.filter((event) => matches(event, filter))),
    [page.data, live.events, filter],
  );
  return { data, error: page.error ?? fabric.error, isPending: data === undefined, refetch: page.refetch };
}
