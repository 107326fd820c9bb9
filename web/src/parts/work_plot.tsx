// The queue and the GPUs that are held, over time: from the times of the jobs that the service still knows.
import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { fabricQuery, jobsQuery } from '../api/queries';
import { useParam } from './params';
import { count } from '../model/format';
import { workOver } from '../model/plots/history';
import { Panel, Shown, useNow } from './basics';
import { Plot } from './plot';

const SPANS: [string, string, number][] = [['1h', 'The last hour', 3600], ['6h', 'Six hours', 21_600], ['1d', 'A day', 86_400], ['7d', 'A week', 604_800]];
const MOMENTS = 240;

export function WorkPlot({ className }: { className?: string }) {
  const [span, setSpan] = useParam('over', '1h');
  const jobs = useQuery(jobsQuery());
  const fabric = useQuery(fabricQuery());
  const tick = Math.floor(useNow(15_000) / 15_000);
  const seconds = SPANS.find(([name]) => name === span)?.[2] ?? 3600;
  const lines = useMemo(() => {
    const now = Math.ceil(Date.now() / 1000);
    return workOver(jobs.data?.items ?? [], now - seconds, now, MOMENTS);
  }, [jobs.data, tick, seconds]);
  return (
    <Panel
      title="Queue and GPUs over time"
      className={className ?? ''}
      actions={<select className="select" aria-label="How long ago" value={span} onChange={(event) => setSpan(event.target.value)}>{SPANS.map(([name, text]) => <option key={name} value={name}>{text}</option>)}</select>}
    >
      <Shown query={jobs}>
        {(list) => (
          <>
            <div className="two-plots" data-testid="work-plot">
              <Plot label="Jobs that wait" lines={[{ name: 'Jobs', color: 'var(--warn)', series: lines.waiting }]} format={count} whole />
              <Plot label="GPUs" lines={[{ name: 'Held', color: 'var(--accent)', series: lines.gpus }, { name: 'Waited for', color: 'var(--warn)', series: lines.wanted }]} format={count} whole {...(fabric.data ? { most: fabric.data.gpus } : {})} />
            </div>
            <p className="dim">{list.complete ? 'Of the jobs that are listed' : `Of the first ${count(list.items.length)} jobs`}: those that ended long ago are not, and are missing from the past.</p>
          </>
        )}
      </Shown>
    </Panel>
  );
}
