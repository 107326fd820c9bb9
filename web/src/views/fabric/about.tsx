// What switches, nodes and links have in common: drains and alarms.
import { Link } from '@tanstack/react-router';
import type { Schema } from '../../api/client';
import { words } from '../../model/format';
import { tone } from '../../model/tones';
import { AlarmActions } from '../../parts/alarm_actions';
import { May } from '../../parts/may';
import { Badge, Facts, Panel, SubjectLink, When } from '../../parts/basics';
import { Said } from '../../parts/said';

export function DrainState({ drain, kind, id }: { drain: Schema['DrainOrNull']; kind: string; id: string }) {
  if (!drain) return null;
  return (
    <div className="problem warn" style={{ marginTop: 12 }}>
      <b>{drain.state === 'drained' ? 'Safe to unplug' : `Drain ${words(drain.state)}`}</b>
      <Facts
        items={[
          ['Reason', drain.reason || '–'],
          ['By', drain.actor],
          ['Since', <When key="since" at={drain.requestedAt} />],
          ...(drain.waitsFor ? ([['Waits for', drain.waitsFor]] as [string, string][]) : []),
          ...(drain.forced ? ([['Forced', 'yes']] as [string, string][]) : []),
        ]}
      />
      <May call="POST /v1/links/{id}/undrain"><Link to="/drain" search={{ kind, id } as never}>Progress, undo</Link></May>
    </div>
  );
}

export function AlarmList({ alarms }: { alarms: Schema['Alarm'][] }) {
  if (alarms.length === 0) return null;
  return (
    <Panel title="Alarms" flush>
      <ul className="list">
        {alarms.map((alarm) => (
          <li key={alarm.id}>
            <Badge tone={tone(alarm.severity)}>{alarm.severity}</Badge>
            <span className="what">
              <Said message={alarm.message} text={alarm.text} names={{ [alarm.subject.id]: alarm.subject.name }} />
              <div><AlarmActions alarm={alarm} /></div>
              {alarm.muted && <div className="dim">Muted by {alarm.muted.by} until <When at={alarm.muted.until} />{alarm.muted.note && `: ${alarm.muted.note}`}</div>}
              {alarm.acknowledged && <div className="dim">Looked after by {alarm.acknowledged.by}{alarm.acknowledged.note && `: ${alarm.acknowledged.note}`}</div>}
              {alarm.jobs.length > 0 && <div className="dim">Affects {alarm.jobs.slice(0, 6).map((job, i) => <span key={job}>{i > 0 && ', '}<SubjectLink kind="job" id={job} /></span>)}</div>}
            </span>
            <span className="when"><When at={alarm.raisedAt} relative /></span>
          </li>
        ))}
      </ul>
    </Panel>
  );
}
