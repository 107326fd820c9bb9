// The last events, live: read once, then followed by the stream; read again only where the stream has dropped some.
import { useQuery } from '@tanstack/react-query';
import { useEffect, useMemo, useState } from 'react';
import { hasHole, newestFirst } from '../model/recent';
import { KEPT, useLive, type FabricEvent } from './events';
import { fabricQuery, recentEventsQuery } from './queries';

export interface Recent {
  data: FabricEvent[] | undefined; // newest first
  error: unknown;
  isPending: boolean;
  refetch: () => unknown;
}

// Of the last `span` events those about `subject` ("link/ID"); all without.
export function useRecent(span: number, subject?: string): Recent {
  const live = useLive();
  const fabric = useQuery(fabricQuery());
  const [base, setBase] = useState<number>();
  const seq = Math.max(fabric.data?.seq ?? 0, live.seq);
  const page = useQuery({ ...recentEventsQuery(base ?? 0, span, subject), enabled: base !== undefined, placeholderData: (before) => before });
  const hole = base === undefined ? seq > 0 || fabric.data !== undefined : page.data !== undefined && hasHole(base, live.events, KEPT);
  useEffect(() => {
    if (hole) setBase(seq);
  }, [hole, seq]);
  const data = useMemo(
    () => page.data && newestFirst(page.data, live.events.filter((event) => subject === undefined || `${event.subject.kind}/${event.subject.id}` === subject)),
    [page.data, live.events, subject],
  );
  return { data, error: page.error ?? fabric.error, isPending: data === undefined, refetch: page.refetch };
}
