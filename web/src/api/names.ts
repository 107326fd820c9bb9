// Names of switches by their GUIDs, read once for all that names links.
import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { useMay } from './caller';
import { switchesQuery } from './queries';

const NONE: ReadonlyMap<string, string> = new Map();

export function useDeviceNames(): ReadonlyMap<string, string> {
  const may = useMay();
  const switches = useQuery({ ...switchesQuery(), enabled: may('GET /v1/switches') });
  const items = switches.data?.items;
  return useMemo(() => (items ? new Map(items.map((sw) => [sw.guid.replace(/^0x/, '').toLowerCase(), sw.id])) : NONE), [items]);
}
