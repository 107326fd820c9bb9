// Parts of one view, by a parameter of its URL.
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useParam } from './params';

export function Tabs({ name, tabs }: { name: string; tabs: [string, ReactNode][] }) {
  const first = tabs[0]![0];
  const [at] = useParam(name, first);
  return (
    <nav className="subtabs" aria-label="Parts of this view">
      {tabs.map(([id, title]) => (
        <Link key={id} to="." search={{ [name]: id === first ? undefined : id } as never} className={at === id ? 'here' : ''} activeProps={{}} activeOptions={{ exact: true, includeSearch: true, explicitUndefined: true }}>
          {title}
        </Link>
      ))}
    </nav>
  );
}
