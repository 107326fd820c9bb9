// Small parts that every view is made of.
import { useMantineColorScheme, useComputedColorScheme } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useEffect, useState, type ReactNode } from 'react';
import { isForbidden, ProblemError } from '../api/client';
import { useSettings } from './settings';
import { Icon } from './icons';
import { ago, time, words } from '../model/format';
import type { Tone } from '../model/tones';


export function Badge({ tone = 'none', children, plain }: { tone?: Tone; children: ReactNode; plain?: boolean }) {
  return <span className={`badge ${tone}${plain ? ' plain' : ''}`}>{children}</span>;
}

export function Panel({ title, actions, children, className = '', flush }: { title: ReactNode; actions?: ReactNode; children: ReactNode; className?: string; flush?: boolean }) {
  return (
    <section className={`panel ${className}`}>
      <header>
        <h2>{title}</h2>
        <span className="grow" />
        {actions}
      </header>
      {flush ? children : <div className="in">{children}</div>}
    </section>
  );
}

export function Title({ children, badge, actions }: { children: ReactNode; badge?: ReactNode; actions?: ReactNode }) {
  return (
    <div className="title">
      <h1>{children}</h1>
      {badge}
      <span className="grow" />
      {actions}
    </div>
  );
}

export function Figure({ value, label, tone }: { value: ReactNode; label: ReactNode; tone?: Tone }) {
  return (
    <div className="figure">
      <b style={tone && tone !== 'none' ? { color: `var(--${tone === 'info' ? 'accent' : tone})` } : undefined}>{value}</b>
      <small>{label}</small>
    </div>
  );
}

export function Facts({ items }: { items: [ReactNode, ReactNode][] }) {
  return (
    <dl className="facts">
      {items.map(([name, value], i) => (
        <FactLine key={i} name={name} value={value} />
      ))}
    </dl>
  );
}
function FactLine({ name, value }: { name: ReactNode; value: ReactNode }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </>
  );
}

export function Bar({ parts, total, thin, label }: { parts: { value: number; color: string; name?: string }[]; total: number; thin?: boolean; label: string }) {
  return (
    <div className={`bar${thin ? ' thin' : ''}`} role="img" aria-label={label} title={label}>
      {parts.map((part, i) =>
        part.value > 0 && total > 0 ? (
          <span key={i} style={{ width: `${Math.min(100, (100 * part.value) / total)}%`, background: part.color }} />
        ) : null,
      )}
    </div>
  );
}

export function Legend({ items }: { items: [string, string][] }) {
  return (
    <div className="legend">
      {items.map(([color, text]) => (
        <span key={text}>
          <i style={{ background: color }} />
          {text}
        </span>
      ))}
    </div>
  );
}

async function toClipboard(text: string) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

export function CopyButton({ text, what }: { text: string; what: string }) {
  const [done, setDone] = useState(false);
  useEffect(() => {
    if (!done) return;
    const timer = setTimeout(() => setDone(false), 1500);
    return () => clearTimeout(timer);
  }, [done]);
  return (
    <button type="button" className="icon-button" aria-label={done ? 'Copied' : `Copy ${what}`} title={`Copy ${what}`} onClick={() => void toClipboard(text).then(setDone)}>
      <Icon name={done ? 'check' : 'copy'} />
    </button>
  );
}

export function Copyable({ text, children }: { text: string; children?: ReactNode }) {
  return (
    <span className="copyable">
      {children ?? <span className="mono">{text}</span>}
      <CopyButton text={text} what={text} />
    </span>
  );
}

// The command line that does the same.
export function Cli({ line }: { line: string }) {
  return (
    <div className="cli" title={line}>
      <code>{line}</code>
      <CopyButton text={line} what="the command" />
    </div>
  );
}

export function useNow(everyMs = 1000): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return now;
}

export function When({ at, relative }: { at: string | null | undefined; relative?: boolean }) {
  const { zone } = useSettings();
  const now = Math.max(useNow(10_000), Date.now()); // what was read since the last tick is not ahead of it
  if (!at) return <span className="dim">–</span>;
  return (
    <time dateTime={at} title={relative ? time(at, zone) : ago(at, now)} className="nowrap">
      {relative ? ago(at, now) : time(at, zone)}
    </time>
  );
}

export function Loading({ lines = 4 }: { lines?: number }) {
  return (
    <div className="in" role="status" aria-label="Loading">
      {Array.from({ length: lines }, (_, i) => (
        <div key={i} className="skeleton" style={{ width: `${92 - ((i * 17) % 40)}%` }} />
      ))}
    </div>
  );
}

export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="state">
      <h3>{title}</h3>
      {children}
    </div>
  );
}

const NO_FABRIC = new Set(['routes.noFabric', 'fabric.none', 'topology.none']); // nothing is wrong: nothing is there yet

export function ProblemBox({ error, retry }: { error: unknown; retry?: () => void }) {
  const problem = error instanceof ProblemError ? error : undefined;
  if (problem && NO_FABRIC.has(problem.code)) return <Empty title="No fabric is known yet"><p>This view shows routes of a fabric. <Link to="/">The first step</Link> is to import one.</p></Empty>;
  const away = error instanceof TypeError; // of fetch: no answer at all
  return (
    <div className="problem" role="alert">
      <b>{problem?.problem.title ?? (away ? 'The service does not answer' : 'This failed')}</b>
      <div>{away ? 'It is away, restarting, or out of this network’s reach. This page tries again by itself.' : error instanceof Error ? error.message : String(error)}</div>
      {problem?.problem.errors?.map((part) => (
        <div key={part.pointer}>
          <code>{part.pointer}</code> {part.detail}
        </div>
      ))}
      {problem?.hint && <div className="dim">{problem.hint}</div>}
      <div className="row">
        {problem && <code className="dim">{problem.code}</code>}
        {retry && (
          <button type="button" className="link-button" onClick={retry}>
            Try again
          </button>
        )}
      </div>
    </div>
  );
}

interface QueryLike<T> {
  data: T | undefined;
  error: unknown;
  isPending: boolean;
  refetch: () => unknown;
}

// Loading, error or the data; an error beside older data leaves the data and says so.
export function Shown<T>({ query, children, lines }: { query: QueryLike<T>; children: (data: T) => ReactNode; lines?: number }) {
  if (query.data !== undefined) {
    return (
      <>
        {query.error ? <ProblemBox error={query.error} retry={() => void query.refetch()} /> : null}
        {children(query.data)}
      </>
    );
  }
  if (isForbidden(query.error)) return <Empty title="Not for your role"><p>It is not shown to your role.</p></Empty>;
  if (query.error) return <div className="in"><ProblemBox error={query.error} retry={() => void query.refetch()} /></div>;
  return <Loading lines={lines ?? 4} />;
}

export function ThemeButton() {
  const { setColorScheme } = useMantineColorScheme();
  const scheme = useComputedColorScheme('dark');
  const next = scheme === 'dark' ? 'light' : 'dark';
  return (
    <button type="button" className="icon-button" aria-label={`Use the ${next} theme`} title={`Use the ${next} theme`} onClick={() => setColorScheme(next)}>
      <Icon name={scheme === 'dark' ? 'sun' : 'moon'} />
    </button>
  );
}

// What an event or alarm is about, as a link to its view.
// name: the same by the names of devices.
export function SubjectLink({ kind, id, name = id }: { kind: string; id: string; name?: string | undefined }) {
  switch (kind) {
    case 'job':
      return <Link to="/jobs/$id" params={{ id }}>{id}</Link>;
    case 'link':
    case 'siteLink':
      return <Link to="/links/$" params={{ _splat: id }} className="mono" title={id}>{name}</Link>;
    case 'switch':
      return <Link to="/switches/$id" params={{ id }}>{name}</Link>;
    case 'node':
      return <Link to="/nodes/$id" params={{ id }}>{name}</Link>;
    case 'tenant':
    case 'contract':
      return <Link to="/tenants/$id" params={{ id }}>{id}</Link>;
    case 'subnet':
      return <Link to="/fabric" search={{ view: 'subnets' } as never}>{id}</Link>;
    default:
      return <span className="break">{id ? `${words(kind)} ${id}` : words(kind)}</span>;
  }
}
