// The frame around every view: navigation, search, whether the page is live, shortcuts.
import { Modal } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, Outlet, useLocation, useNavigate, useRouterState } from '@tanstack/react-router';
import { useEffect, useRef, useState } from 'react';
import { useCaller, useMay } from '../api/caller';
import { signIn } from '../api/client';
import { signOut } from '../api/oidc';
import { alarmsQuery, drainsQuery, leaderQuery, queueQuery, readyQuery } from '../api/queries';
import { liveConnection, useLive } from '../api/events';
import { ago, words } from '../model/format';
import { article, callerText, seenBy, type Operation } from '../model/session/access';
import roles from '../api/roles.json';
import { Badge, Empty, ThemeButton, useNow } from '../parts/basics';
import { Dialogs } from '../parts/edit';
import { SavedViews, ViewBar } from '../parts/saved_views';
import { Icon } from '../parts/icons';
import { SearchBox } from './search';
import { change, useSettings } from '../parts/settings';

type Place = { to: string; name: string; icon: string; key: string; reads?: Operation };
const SECTIONS: [string, Place[]][] = [
  ['Watch', [
    { to: '/', name: 'Overview', icon: 'overview', key: 'o' },
    { to: '/alarms', name: 'Alarms', icon: 'alarms', key: 'a' },
    { to: '/events', name: 'Events', icon: 'events', key: 'e' },
  ]],
  ['Fabric', [
    { to: '/fabric', name: 'Fabric', icon: 'fabric', key: 'f', reads: 'GET /v1/fabric/map' },
    { to: '/path', name: 'Paths', icon: 'path', key: 'p', reads: 'GET /v1/routes/path' },
    { to: '/drains', name: 'Drains', icon: 'drains', key: 'd', reads: 'GET /v1/drains' },
  ]],
  ['Work', [
    { to: '/jobs', name: 'Jobs', icon: 'jobs', key: 'j' },
    { to: '/queue', name: 'Queue', icon: 'queue', key: 'q' },
    { to: '/submit', name: 'Submit, what if', icon: 'submit', key: 's' },
  ]],
  ['Promises', [
    { to: '/tenants', name: 'Tenants', icon: 'tenants', key: 't' },
    { to: '/guarantees', name: 'Guarantees', icon: 'guarantees', key: 'g', reads: 'GET /v1/guarantees' },
  ]],
  ['Ahead', [{ to: '/planning', name: 'Planning', icon: 'planning', key: 'l', reads: 'POST /v1/routes/diff' }]],
];

const SHORTCUTS: [string, string][] = [
  ['/', 'Search for anything'],
  ['?', 'These shortcuts'],
  ['Esc', 'Close what is open'],
  ['c', 'Light or dark'],
  ...SECTIONS.flatMap(([, places]) => places.map((place): [string, string] => [`g ${place.key}`, place.name])),
];

// Views beside those of the navigation, by what they read.
const BESIDE: [string, Operation][] = [
  ['/switches/', 'GET /v1/switches/{id}'], ['/nodes/', 'GET /v1/nodes/{id}'], ['/links/', 'GET /v1/links/{id}'], ['/drain', 'POST /v1/links/{id}/drain'],
];
const whoSees = (operation: Operation) => seenBy(roles, operation);
function readBy(path: string): Operation | undefined {
  const place = SECTIONS.flatMap(([, places]) => places).find((one) => one.to === path || (one.to !== '/' && path.startsWith(`${one.to}/`)));
  return place?.reads ?? BESIDE.find(([start]) => path.startsWith(start))?.[1];
}

function Account() {
  const caller = useCaller();
  const queries = useQueryClient();
  if (!caller || caller.authentication === 'none') return null;
  return (
    <span className="row account">
      <span className="dim" data-testid="caller" title={callerText(caller)}>{callerText(caller)}</span>
      {signIn.hasToken() && (
        <button type="button" className="link-button" onClick={() => { void signOut(); queries.removeQueries(); }}>
          Sign out
        </button>
      )}
    </span>
  );
}

// A replica whose reading of the store has stopped shows what was.
function BehindBar() {
  const leader = useQuery(leaderQuery());
  const behind = leader.data?.replica.stalenessMs ?? 0;
  if (behind < 10_000) return null;
  return (
    <div className="stale-bar" role="status">
      <b>What you see may be stale.</b>
      <span>{leader.data!.replica.name} has read nothing from the store for {ago(Date.now() - behind, Date.now()).replace(' ago', '')}; another replica may know more.</span>
    </div>
  );
}

function Brand() {
  return (
    <Link to="/" className="brand" aria-label="Railweave, overview">
      <svg viewBox="0 0 32 32" aria-hidden="true">
        <rect width="32" height="32" rx="7" fill="#14532d" />
        <g stroke="#4ade80" strokeWidth="2.2" fill="none" strokeLinecap="round">
          <path d="M8 24 16 9l8 15" />
          <path d="M8 24 24 9M24 24 8 9" opacity=".45" />
        </g>
        <g fill="#bbf7d0"><circle cx="8" cy="24" r="2.6" /><circle cx="24" cy="24" r="2.6" /><circle cx="16" cy="9" r="2.6" /></g>
      </svg>
      <span>Railweave</span>
    </Link>
  );
}

function LiveMark() {
  const live = useLive();
  const ready = useQuery(readyQuery());
  const phase = ready.data?.phase;
  if (live.state === 'lost') return <Badge tone="bad">not live</Badge>;
  if (live.state === 'connecting') return <Badge>connecting</Badge>;
  if (phase && phase !== 'ready' && phase !== 'following') return <Badge tone="warn">{words(phase)}</Badge>;
  const seq = Math.max(live.seq, ready.data?.seq ?? 0);
  return <Badge tone="ok">live · {seq}</Badge>;
}

function StaleBar() {
  const live = useLive();
  const now = useNow(1000);
  if (live.state !== 'lost' || now - live.since < 1500) return null;
  return (
    <div className="stale-bar" role="status">
      <b>The service does not answer: what you see may be stale.</b>
      <span>The connection was lost {ago(live.since, now)} ({live.detail}). This page connects again by itself, and reads everything again then.</span>
      <button type="button" className="link-button" onClick={liveConnection.reconnect}>Connect now</button>
    </div>
  );
}

function NavCount({ to }: { to: string }) {
  const alarms = useQuery({ ...alarmsQuery(), enabled: to === '/alarms' });
  const queue = useQuery({ ...queueQuery(), enabled: to === '/queue' });
  const may = useMay();
  const drains = useQuery({ ...drainsQuery(), enabled: to === '/drains' && may('GET /v1/drains') });
  const open = (alarms.data?.items ?? []).filter((alarm) => !alarm.acknowledged && !alarm.muted);
  if (to === '/alarms' && open.length > 0) {
    const critical = open.some((alarm) => alarm.severity === 'critical');
    return <span className="n"><Badge plain tone={critical ? 'bad' : 'warn'}>{open.length}</Badge></span>;
  }
  if (to === '/queue' && queue.data && queue.data.waiting > 0) return <span className="n"><Badge plain>{queue.data.waiting}</Badge></span>;
  if (to === '/drains' && drains.data && drains.data.items.length > 0) return <span className="n"><Badge plain tone="drain">{drains.data.items.length}</Badge></span>;
  return null;
}

function useShortcuts(openHelp: () => void) {
  const navigate = useNavigate();
  const first = useRef<{ key: string; at: number }>({ key: '', at: 0 });
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const target = event.target as HTMLElement;
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (target.closest('input, textarea, select, [contenteditable]')) return;
      const after = first.current.key === 'g' && Date.now() - first.current.at < 1500;
      first.current = { key: event.key, at: Date.now() };
      if (after) {
        const place = SECTIONS.flatMap(([, places]) => places).find((p) => p.key === event.key);
        if (place) {
          event.preventDefault();
          void navigate({ to: place.to });
        }
        return;
      }
      if (event.key === '/') {
        event.preventDefault();
        document.getElementById('search')?.focus();
      } else if (event.key === '?') openHelp();
      else if (event.key === 'c') document.querySelector<HTMLButtonElement>('button[aria-label^="Use the"]')?.click();
    };
    window.addEventListener('keydown', onKey);
    return () => window.removeEventListener('keydown', onKey);
  }, [navigate, openHelp]);
}

export function Shell() {
  const [help, setHelp] = useState(false);
  const { zone } = useSettings();
  const may = useMay();
  const caller = useCaller();
  const location = useLocation();
  const reads = readBy(location.pathname);
  const shown = useRouterState({ select: (state) => state.resolvedLocation?.pathname });
  const main = useRef<HTMLElement>(null);
  const openHelp = useRef(() => setHelp(true));
  useShortcuts(openHelp.current);

  useEffect(() => {
    main.current?.scrollTo(0, 0);
    const place = SECTIONS.flatMap(([, places]) => places).find((p) => p.to !== '/' && location.pathname.startsWith(p.to));
    document.title = `${place?.name ?? (location.pathname === '/' ? 'Overview' : decodeURIComponent(location.pathname.slice(1)))} · Railweave`;
  }, [location.pathname]);

  return (
    <div className="frame">
      <a className="skip" href="#main">Skip to the view</a>
      <header className="head">
        <Brand />
        <SearchBox />
        <span className="grow" />
        <Account />
        <LiveMark />
        <SavedViews />
        <button type="button" className="link-button" aria-label={`Times are ${zone === 'utc' ? 'UTC' : 'local'}; change`} onClick={() => change({ zone: zone === 'utc' ? 'local' : 'utc' })}>
          {zone === 'utc' ? 'UTC' : 'Local time'}
        </button>
        <button type="button" className="icon-button" aria-label="Keyboard shortcuts" title="Keyboard shortcuts (?)" onClick={() => setHelp(true)}>
          <Icon name="keyboard" />
        </button>
        <ThemeButton />
      </header>
      <nav className="nav" aria-label="Views">
        {SECTIONS.map(([section, all]): [string, Place[]] => [section, all.filter((place) => !place.reads || may(place.reads))]).filter(([, places]) => places.length > 0).map(([section, places]) => (
          <div key={section} style={{ display: 'contents' }}>
            <h2>{section}</h2>
            {places.map((place) => {
              const active = place.to === '/' ? location.pathname === '/' : location.pathname === place.to || location.pathname.startsWith(`${place.to}/`);
              return (
                <Link key={place.to} to={place.to} className={active ? 'here' : ''} activeProps={{}} activeOptions={{ exact: place.to === '/', includeSearch: false }} aria-label={place.name} title={`${place.name} (g ${place.key})`}>
                  <Icon name={place.icon} />
                  <span>{place.name}</span>
                  <NavCount to={place.to} />
                </Link>
              );
            })}
          </div>
        ))}
      </nav>
      <main className="main" id="main" tabIndex={-1} ref={main} data-path={shown}>
        <StaleBar />
        <BehindBar />
        <ViewBar />
        {reads === undefined || may(reads) ? <Outlet /> : <Empty title="Not for your role"><p>{whoSees(reads)} see it; you are {article(caller?.role ?? 'agent')}.</p></Empty>}
      </main>
      <Dialogs />
      <Modal opened={help} onClose={() => setHelp(false)} title="Keyboard" lockScroll={false} size="md" closeButtonProps={{ 'aria-label': 'Close' }}>
        <table className="data">
          <tbody>
            {SHORTCUTS.map(([keys, what]) => (
              <tr key={keys}>
                <td>{keys.split(' ').map((key) => <kbd key={key} style={{ marginRight: 4 }}>{key}</kbd>)}</td>
                <td>{what}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Modal>
    </div>
  );
}
