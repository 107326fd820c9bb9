// One guarantee: what is promised, what is reserved, what enforces it and how strongly.
import { Link } from '@tanstack/react-router';
import type { Schema } from '../../api/client';
import { count, duration, rate, words } from '../../model/format';
import { tone } from '../../model/tones';
import { Badge, Bar, Facts, Panel, SubjectLink, When } from '../../parts/basics';
import { arrow, undirected } from '../fabric/map';

const STRENGTHS: Record<string, string> = { hardware: 'Enforced by hardware', host: 'Enforced by the host', cooperative: 'Holds if senders cooperate', planned: 'Planned only' };

export function GuaranteePanel({ guarantee }: { guarantee: Schema['Guarantee'] }) {
  const tightest = guarantee.tightestLink;
  return (
    <Panel title={<>Guarantee of <SubjectLink kind="job" id={guarantee.job} /></>} actions={<Badge tone={tone(guarantee.state)}>{words(guarantee.state)}</Badge>}>
      <div className="stack">
        <Facts
          items={[
            ['Promised', `${rate(guarantee.guaranteedGbpsPerPort)} at each of ${count(guarantee.ports)} ports${guarantee.maxGbpsPerPort === null ? '' : `, at most ${rate(guarantee.maxGbpsPerPort)}`}`],
            ['For', guarantee.model === 'hose' ? 'whatever its ports send each other' : 'the flows of its parallelism'],
            ...(guarantee.receivers.length > 0 ? [['To other roles', `${rate(guarantee.betweenRolesGbpsPerPort)} to each of ${guarantee.receivers.map((one) => `${count(one.ports)} ports of ${one.role} (${one.job})`).join(', ')}`] as [string, string]] : []),
            ['Class', guarantee.class],
            ['Reserved', `${count(guarantee.linksReserved)} links${guarantee.reservedPermille < 1000 ? `, ${guarantee.reservedPermille / 10}% of the promise: over-committed` : ''}`],
            ['After a link failure', guarantee.surviveLinkFailure ? (guarantee.covered ? 'covered' : 'promised, but used up') : 'not promised'],
            ['Isolation', guarantee.isolation === 'planned' ? 'shares of classes' : `${guarantee.isolation}${guarantee.lane === null ? '' : ` ${guarantee.lane}`}, ${guarantee.inForce.isolation === guarantee.isolation ? 'in force' : 'planned only'}`],
            ['At risk so far', guarantee.atRiskTotalMs > 0 ? duration(guarantee.atRiskTotalMs) : 'never'],
          ]}
        />
        {guarantee.state === 'atRisk' && (
          <div className="problem">
            <b>At risk {guarantee.atRiskSince && <>since <When at={guarantee.atRiskSince} /></>}</b>
            <div>{guarantee.reason}</div>
            {guarantee.links.map((link) => <div key={link}><Link className="mono" to="/links/$" params={{ _splat: undirected(link) }}>{link}</Link></div>)}
          </div>
        )}
        {tightest && (
          <div>
            <div className="row"><span className="dim">Tightest link</span><Link title={tightest.link} to="/links/$" params={{ _splat: undirected(tightest.link) }}>{arrow(tightest.name)}</Link></div>
            <Bar
              label={`${tightest.reservedGbps} of ${tightest.limitGbps} Gb/s of the class are reserved, ${tightest.jobGbps} by this job`}
              total={tightest.limitGbps}
              parts={[{ value: tightest.jobGbps, color: 'var(--accent)' }, { value: tightest.reservedGbps - tightest.jobGbps, color: 'var(--dim)' }]}
            />
            <div className="dim">{rate(tightest.jobGbps)} by this job, {rate(tightest.reservedGbps)} in all, of {rate(tightest.limitGbps)} for the class on {rate(tightest.capacityGbps)}</div>
          </div>
        )}
        <div>
          <div className="row"><b>{STRENGTHS[guarantee.inForce.level] ?? words(guarantee.inForce.level)}</b></div>
          <p className="dim">{guarantee.inForce.statement}</p>
        </div>
        <ul className="list" style={{ margin: '0 -12px' }}>
          {guarantee.enforcement.map((means) => (
            <li key={means.by}><Badge plain tone={tone(means.strength)}>{words(means.strength)}</Badge><span className="what">{words(means.by)} <span className="dim">{means.statement}</span></span></li>
          ))}
        </ul>
      </div>
    </Panel>
  );
}
