// How long steps of a job take, as it reports them.
import { useQuery } from '@tanstack/react-query';
import { jobStepsQuery } from '../../api/queries';
import { count } from '../../model/format';
import { controlText, periodText } from '../../model/steps';
import { Badge, Facts, Panel, When } from '../../parts/basics';

export function StepTimes({ id }: { id: string }) {
  const { data } = useQuery(jobStepsQuery(id));
  if (!data || data.periods.length === 0) return null;
  return (
    <Panel title="Steps as it reports them" actions={data.slow && <Badge tone="warn">slow</Badge>}>
      <div className="stack" data-testid="steps">
        {data.slow && <p className="warn">They take {data.factor?.toFixed(2)} times as long as predicted. {data.onPath ? `When it became slow: ${data.onPath}.` : 'Nothing on its path is known to be the cause.'}</p>}
        <Facts
          items={[
            ...[...data.periods].reverse().map((period, at): [string, React.ReactNode] => [
              at === 0 ? 'Now' : 'Before',
              <span key={period.since}>{periodText(period)} <span className="dim">{count(period.steps)} steps, {controlText(period)}{at > 0 && <>, until <When at={period.until} /></>}</span></span>,
            ]),
            ['Workload', data.workload || 'not said'],
            ['Reported', <When key="reported" at={data.reportedAt} relative />],
          ]}
        />
      </div>
    </Panel>
  );
}
