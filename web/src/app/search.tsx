// Finds anything by name, GUID, LID or id: what is cached is filtered here, nodes and addresses are asked for.
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useMemo, useState, type KeyboardEvent } from 'react';
import { body, client } from '../api/client';
import { jobsQuery, switchesQuery, tenantsQuery } from '../api/queries';
import { isAddress, rankMatches, type Found } from '../model/search';
import { Icon } from '../parts/icons';

async function lookUp(text: string): Promise<Found[]> {
  const found: Found[] = [];
  const quiet = <T,>(answer: Promise<T>) => answer.catch(() => undefined);
  if (text.includes('--')) {
    const link = await quiet(body(client.GET('/v1/links/{id}', { params: { path: { id: text } } })));
    if (link) found.push({ kind: 'link', id: link.id, name: link.id });
    return found;
  }
  const [nodes, one] = await Promise.all([
    quiet(body(client.GET('/v1/nodes', { params: { query: { name: text, limit: 8 } } }))),
    isAddress(text) ? quiet(body(client.GET('/v1/switches/{id}', { params: { path: { id: text } } }))) : undefined,
  ]);
  if (one) found.push({ kind: 'switch', id: one.id, name: one.id, note: text });
  for (const node of nodes?.items ?? []) found.push({ kind: 'node', id: node.id, name: node.id, note: node.rack ?? undefined });
  if (isAddress(text)) {
    // An adapter's LID or GUID: a path from it to itself names its port.
    const end = await quiet(body(client.GET('/v1/routes/path', { params: { query: { from: text, to: text } } })));
    const from = end?.paths[0]?.from;
    if (from?.includes('/')) found.push({ kind: 'node', id: from.slice(0, from.lastIndexOf('/')), name: from, note: text });
  }
  return found;
}

export function SearchBox() {
  const [text, setText] = useState('');
  const [open, setOpen] = useState(false);
  const [at, setAt] = useState(0);
  const navigate = useNavigate();
  const typed = text.trim();
  const jobs = useQuery({ ...jobsQuery(), enabled: open });
  const switches = useQuery({ ...switchesQuery(), enabled: open });
  const tenants = useQuery({ ...tenantsQuery(), enabled: open });
  const asked = useQuery({ queryKey: ['search', typed], queryFn: () => lookUp(typed), enabled: open && typed.length >= 2, staleTime: 5000 });

  const found = useMemo(() => {
    if (!typed) return [];
    const cached: Found[] = [
      ...(jobs.data?.items ?? []).map((job): Found => ({ kind: 'job', id: job.id, name: job.name || job.id, note: job.name ? job.id : job.tenant })),
      ...(switches.data?.items ?? []).map((sw): Found => ({ kind: 'switch', id: sw.id, name: sw.id, note: sw.guid })),
      ...(tenants.data?.items ?? []).map((tenant): Found => ({ kind: 'tenant', id: tenant.id, name: tenant.id })),
    ];
    return rankMatches(typed, [...(asked.data ?? []), ...cached], 14);
  }, [typed, jobs.data, switches.data, tenants.data, asked.data]);

  const go = (item: Found | undefined) => {
    if (!item) return;
    setOpen(false);
    setText('');
    (document.activeElement as HTMLElement | null)?.blur();
    if (item.kind === 'link') void navigate({ to: '/links/$', params: { _splat: item.id } });
    else if (item.kind === 'switch') void navigate({ to: '/switches/$id', params: { id: item.id } });
    else if (item.kind === 'node') void navigate({ to: '/nodes/$id', params: { id: item.id } });
    else if (item.kind === 'tenant') void navigate({ to: '/tenants/$id', params: { id: item.id } });
    else void navigate({ to: '/jobs/$id', params: { id: item.id } });
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.key === 'ArrowDown') setAt((n) => Math.min(n + 1, found.length - 1));
    else if (event.key === 'ArrowUp') setAt((n) => Math.max(n - 1, 0));
    else if (event.key === 'Enter') go(found[at]);
    else if (event.key === 'Escape') {
      setOpen(false);
      setText('');
      (event.target as HTMLElement).blur();
    } else return;
    event.preventDefault();
  };
  const listed = open && typed.length > 0;
  return (
    <div className="search" role="search">
      <Icon name="search" />
      <input
        id="search"
        value={text}
        placeholder="Search switches, nodes, links, jobs, tenants; GUID, lid:12"
        role="combobox"
        aria-label="Search"
        aria-expanded={listed}
        aria-controls="search-results"
        aria-activedescendant={listed && found[at] ? `found-${at}` : undefined}
        autoComplete="off"
        spellCheck={false}
        onFocus={() => setOpen(true)}
        onBlur={() => setTimeout(() => setOpen(false), 150)}
        onChange={(event) => {
          setText(event.target.value);
          setAt(0);
          setOpen(true);
        }}
        onKeyDown={onKey}
      />
      <kbd aria-hidden="true">/</kbd>
      {listed && (
        <ul id="search-results" role="listbox" aria-label="Found">
          {found.map((item, i) => (
            <li key={`${item.kind}/${item.id}/${item.name}`} id={`found-${i}`} role="option" aria-selected={i === at} onMouseDown={(event) => { event.preventDefault(); go(item); }} onMouseEnter={() => setAt(i)}>
              <span className="kind">{item.kind}</span>
              <span className="break">{item.name}</span>
              {item.note && <span className="dim mono">{item.note}</span>}
            </li>
          ))}
          {found.length === 0 && <li role="option" aria-selected={false}>{asked.isFetching ? 'Searching' : `Nothing is called ${typed}`}</li>}
        </ul>
      )}
    </div>
  );
}
