// A message by its parts: what it names is linked, what the caller may not see is said to be another's, and links are
// called by their devices where these are known.
import { Link } from '@tanstack/react-router';
import { Fragment } from 'react';

import type { Schema } from '../api/client';
import { inWords } from '../model/health';
import { linkNamed } from '../model/names';
import { SubjectLink } from './basics';
import { useDeviceNames } from '../api/names';

type Part = Schema['Message']['parts'][number];

function Named({ part, names }: { part: Part; names: Record<string, string> }) {
  const devices = useDeviceNames();
  if (typeof part === 'string') return part;
  if ('job' in part) return part.job === null ? 'another tenant’s job' : <><SubjectLink kind="job" id={part.job} />{part.note && ` ${part.note}`}</>;
  if ('tenant' in part) return part.tenant === null ? 'another tenant' : <SubjectLink kind="tenant" id={part.tenant} />;
  if ('reservation' in part) return part.reservation ?? 'a reservation';
  if ('node' in part) return <SubjectLink kind="node" id={part.node} />;
  if ('link' in part) return <Link to="/links/$" params={{ _splat: part.link }} className="mono" title={part.link}>{names[part.link] ?? linkNamed(part.link, devices)}</Link>;
  if ('amount' in part) return `${part.amount} ${part.unit}`;
  return part.opaque ?? '(written by an earlier version: operators read it)';
}

// Words that stand around a name of the API are put into words of this page as a whole: "POST /v1/jobs/", the job, "/repair".
function plain(parts: Part[]): Part[] {
  const joined: Part[] = [];
  for (let i = 0; i < parts.length; i += 1) {
    const [before, named, after] = [parts[i]!, parts[i + 1], parts[i + 2]];
    if (typeof before === 'string' && before.endsWith('/v1/jobs/') && typeof named === 'object' && 'job' in named && typeof after === 'string') {
      joined.push(inWords(`${before}${named.job ?? 'it'}${after}`));
      i += 2;
    } else joined.push(typeof before === 'string' ? inWords(before) : before);
  }
  return joined;
}

/** text: where there are no parts, as in events of older versions. names: of links by their ids, where the caller has them. */
export function Said({ message, text, names = {} }: { message: Schema['Message'] | undefined; text: string; names?: Record<string, string> }) {
  if (!message) return inWords(text);
  return plain(message.parts).map((part, i) => <Fragment key={i}><Named part={part} names={names} /></Fragment>);
}
