// An earlier moment of the map: the last failures and reroutes, and between them the times whose load is still known.
import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { jobsQuery } from '../../api/queries';
import { useSettings } from '../../parts/settings';
import { count, time } from '../../model/format';
import { jobsAt, stopsOf, type Moment, type TimelineEvent } from '../../model/plots/timeline';
import { Badge, useNow } from '../../parts/basics';

const MARKS = 300;

// Where on the slider something failed, and where it came back.
function Marks({ stops }: { stops: ReturnType<typeof stopsOf> }) {
  const events = stops.map((stop, i) => ({ i, event: stop.event })).filter((mark) => mark.event !== undefined);
  const every = Math.max(1, Math.ceil(events.length / MARKS));
  return (
    <svg className="time-marks" viewBox={`0 0 ${Math.max(1, stops.length)} 1`} preserveAspectRatio="none" aria-hidden="true">
      {events.filter((_, i) => i % every === 0).map(({ i, event }) => (
        <line key={i} x1={i} x2={i} y1="0" y2="1" vectorEffect="non-scaling-stroke" stroke={event!.type === 'link.down' ? 'var(--bad)' : event!.type === 'link.up' ? 'var(--ok)' : 'var(--dim)'} strokeWidth="1.5" />
      ))}
    </svg>
  );
}

// read: counters are, so there are times to look at between the events.
export function TimeSlider({ events, read, moment, onChange }: { events: TimelineEvent[]; read: boolean; moment: Moment | undefined; onChange: (at: string) => void }) {
  const { zone } = useSettings();
  const minute = Math.floor(useNow(60_000) / 60_000) * 60_000;
  const stops = useMemo(() => stopsOf(events, minute, read), [events, minute, read]);
  const jobs = useQuery({ ...jobsQuery(), enabled: moment !== undefined });
  if (stops.length === 0) return null;
  const found = moment ? stops.findIndex((stop) => (moment.event ? stop.event?.seq === moment.event.seq : Date.parse(stop.time) >= Date.parse(moment.time))) : -1;
  const index = found < 0 ? stops.length : found;
  const then = moment && jobs.data ? jobsAt(jobs.data.items, Date.parse(moment.time)) : undefined;
  const said = moment?.event?.summary ?? 'load and errors of then';
  return (
    <div className="map-key time-slider">
      <label className="row" style={{ flex: 1, flexWrap: 'nowrap' }}>
        <span className="nowrap">Time</span>
        <span className="time-range">
          <Marks stops={stops} />
          <input type="range" min={0} max={stops.length} value={index} onChange={(change) => onChange(stops[Number(change.target.value)]?.at ?? '')} aria-label="Time of the map" aria-valuetext={moment ? `${time(moment.time, zone)}: ${said}` : 'now'} />
        </span>
      </label>
      <span className="nowrap">{moment ? <><Badge tone="warn">{time(moment.time, zone)}</Badge> {said.length > 70 ? `${said.slice(0, 70)}…` : said}</> : <Badge tone="ok">now</Badge>}</span>
      {then && <span className="dim nowrap" data-testid="jobs-then" title={then.jobs.slice(0, 30).map((job) => `${job.id} ${job.name}`).join('\n')}>{then.jobs.length === 1 ? '1 job' : `${count(then.jobs.length)} jobs`} on {count(then.gpus)} GPUs</span>}
      {moment && <button type="button" className="link-button" onClick={() => onChange('')}>Back to now</button>}
    </div>
  );
}
