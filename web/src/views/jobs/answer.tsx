// What a placement comes to: shown of a what-if and of a job alike.
import { Link } from '@tanstack/react-router';
import type { Schema } from '../../api/client';
import { count, milliseconds, percent, rate, words } from '../../model/format';
import { seatsOf } from '../../model/job_form';
import { tone } from '../../model/tones';
import { Badge, Bar, Facts, Panel, SubjectLink, When } from '../../parts/basics';
import { Said } from '../../parts/said';
import { undirected } from '../fabric/map';

const GROUP_NAMES: Record<string, string> = { tensor: 'Tensor', context: 'Context', expert: 'Expert', data: 'Data', pipeline: 'Pipeline', expertData: 'Expert data', roles: 'Between roles' };

export function Groups({ groups }: { groups: Schema['GroupSpans'] }) {
  const spans = Object.entries(groups) as [string, Schema['GroupSpan']][];
  if (spans.length === 0) return null;
  return (
    <table className="data">
      <thead><tr><th>Groups</th><th className="num">Count</th><th className="num">Ranks</th><th>Each within one</th><th className="num">NVLink domains</th></tr></thead>
      <tbody>
        {spans.map(([name, span]) => (
          <tr key={name}>
            <td>{GROUP_NAMES[name] ?? name}</td><td className="num">{count(span.count)}</td><td className="num">{span.ranks}</td>
            <td>{words(span.worst)}{span.sameRail ? ', on one rail' : ''}</td><td className="num">{span.domains}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** Where members without GPUs are, as rows of facts. */
export function cpuRoleFacts(placement: Schema['Placement'] | null | undefined): [string, React.ReactNode][] {
  return (placement?.cpuRoles ?? []).map((role): [string, React.ReactNode] => [
    `${role.name}, without GPUs`,
    <span key={`cpu-${role.name}`}>
      {seatsOf(role.nodes).map(([node, members], at) => (
        <span key={node}>{at > 0 && ', '}<Link to="/nodes/$id" params={{ id: node }}>{node}</Link>{members > 1 && ` (${count(members)})`}</span>
      ))}
    </span>,
  ]);
}

export function Times({ predicted, contention }: { predicted: Schema['Predicted'] | null | undefined; contention: Schema['WithContention'] | null | undefined }) {
  if (!predicted) return <p className="dim">No prediction.</p>;
  const groups = Object.entries(predicted.byGroup).filter((entry): entry is [string, number] => typeof entry[1] === 'number' && entry[1] > 0);
  const total = groups.reduce((sum, [, ms]) => sum + ms, 0);
  return (
    <div className="stack">
      <Facts
        items={[
          ...(predicted.stepMs !== null ? ([['Step', `${milliseconds(predicted.stepMs)} alone${contention?.stepMs ? `, ${milliseconds(contention.stepMs)} beside the others` : ''}`]] as [string, string][]) : []),
          ['Communication', `${milliseconds(predicted.communicationMs)} alone${contention?.communicationMs ? `, ${milliseconds(contention.communicationMs)} beside the others` : ''}`],
          ['Basis', predicted.assumed ? `a default model on ${predicted.generation}: for comparison only` : `constants of ${predicted.generation}`],
          ...(contention ? ([['Slowdown', contention.slowdown === null ? 'not known' : contention.slowdown <= 1.005 ? 'no slowdown' : `${percent(contention.slowdown - 1)} of its communication`]] as [string, string][]) : []),
        ]}
      />
      {groups.map(([name, ms], i) => (
        <div key={name}>
          <div className="row"><span>{GROUP_NAMES[name] ?? name}</span><span className="dim">{milliseconds(ms)}</span></div>
          <Bar thin label={`${name} ${milliseconds(ms)}`} total={total} parts={[{ value: ms, color: `var(--c${(i % 8) + 1})` }]} />
        </div>
      ))}
      {contention?.mostContended && (
        <p>
          Slowed most on <code>{contention.mostContended.link}</code> ({rate(contention.mostContended.othersGbps)} of {rate(contention.mostContended.capacityGbps)} are others'), by{' '}
          {contention.mostContended.jobs.map((other, i) => <span key={other.job}>{i > 0 && ', '}<SubjectLink kind="job" id={other.job} /></span>)}
        </p>
      )}
      {contention && contention.slows.length > 0 && (
        <p>
          It slows{' '}
          {contention.slows.map((other, i) => (
            <span key={other.job}>{i > 0 && ', '}<SubjectLink kind="job" id={other.job} /> ({other.slowdown === null ? '?' : percent(other.slowdown - 1)})</span>
          ))}
        </p>
      )}
    </div>
  );
}

export function Explained({ explanation }: { explanation: Schema['Explanation'] }) {
  return (
    <div className="stack">
      <Facts
        items={[
          ['Fails at', words(explanation.level)],
          ['Blocks', `${count(explanation.needed)} of ${explanation.blockGpus} GPUs needed, ${count(explanation.fits)} fit`],
          ['GPUs', `${count(explanation.freeGpus)} free of ${count(explanation.totalGpus)}, ${count(explanation.strandedGpus)} stranded in smaller pieces`],
        ]}
      />
      {explanation.counterfactuals.length > 0 && (
        <div>
          <h3>What would change it</h3>
          <ul className="list">
            {explanation.counterfactuals.map((item) => (
              <li key={item.change}><span className="what">{item.change}</span><Badge tone={tone(item.outcome)}>{words(item.outcome)}</Badge></li>
            ))}
          </ul>
        </div>
      )}
      {explanation.excluded.length > 0 && (
        <div>
          <h3>Nodes that do not count</h3>
          <ul className="list">
            {explanation.excluded.map((item) => (
              <li key={`${item.reason} ${item.taint ?? ''}`}><span className="what">{words(item.reason)}{item.taint && `: ${item.taint}`} <span className="dim">{item.examples.join(', ')}{item.nodes > item.examples.length && ' …'}</span></span><span>{count(item.nodes)}</span></li>
            ))}
          </ul>
        </div>
      )}
      {explanation.levels.length > 0 && (
        <table className="data">
          <thead><tr><th>Level</th><th className="num">Groups</th><th className="num">Hold it now</th><th className="num">Best holds</th><th className="num">When empty</th></tr></thead>
          <tbody>
            {explanation.levels.map((level) => (
              <tr key={level.level}><td>{words(level.level)}</td><td className="num">{count(level.groups)}</td><td className="num">{count(level.groupsThatFit)}</td><td className="num">{count(level.bestBlocks)}</td><td className="num">{count(level.bestBlocksWhenEmpty)}</td></tr>
            ))}
          </tbody>
        </table>
      )}
    </div>
  );
}

export function Wait({ waits }: { waits: Schema['WaitReason'] }) {
  return (
    <div className="problem warn">
      <b>Waits: {words(waits.code)}</b>
      <div><Said message={waits.message} text={waits.reason} /></div>
      {waits.job && <div>For <SubjectLink kind="job" id={waits.job} /></div>}
      {waits.expectedAt && <div>Expected to start <When at={waits.expectedAt} relative /></div>}
      {waits.starving && <div>It has waited beyond the bound: nothing passes it.</div>}
    </div>
  );
}

export function BlockedLinks({ links }: { links: Schema['BlockedLink'][] }) {
  return (
    <Panel title="Links that are full" flush>
      <ul className="list">
        {links.map((link) => (
          <li key={link.link}>
            <span className="what">
              <Link to="/links/$" params={{ _splat: undirected(link.link) }} className="mono">{link.link}</Link>
              <div className="dim">{rate(link.wantedGbps)} wanted, {rate(link.reservedGbps)} of {rate(link.limitGbps)} reserved by {link.holders.map((holder, i) => <span key={holder.job}>{i > 0 && ', '}<SubjectLink kind="job" id={holder.job} /> ({rate(holder.gbps)})</span>)}</div>
            </span>
          </li>
        ))}
      </ul>
    </Panel>
  );
}

export function Answer({ answer }: { answer: Schema['PlacementAnswer'] }) {
  const placed = answer.outcome === 'placed';
  return (
    <div className="stack">
      <div className={`problem ${placed ? 'good' : answer.outcome === 'notNow' ? 'warn' : ''}`} data-testid="outcome">
        <b>{placed ? 'It fits' : answer.outcome === 'notNow' ? 'Not now' : 'It can never be placed'}</b>
        <div>
          {placed && answer.placement
            ? `Within one ${words(answer.placement.level)}: ${count(answer.ranks?.count ?? 0)} GPUs on ${count(answer.placement.nodesUsed)} nodes, ${count(answer.placement.domainsUsed)} NVLink domains${answer.placement.dataRingsOnRails ? ', data rings on rails' : ''}`
            : answer.reason}
        </div>
        {answer.warnings.map((warning) => <div key={warning} className="dim">{warning}</div>)}
      </div>
      {placed && answer.placement?.cpuRoles && <Panel title="Members without GPUs"><Facts items={cpuRoleFacts(answer.placement)} /></Panel>}
      {placed && <Panel title="It would take"><Times predicted={answer.predicted} contention={answer.withContention} /></Panel>}
      {placed && (
        <Panel title="It would cost">
          {answer.reservation ? (
            <Facts items={[['Links reserved', count(answer.reservation.links)], ['Most on one link', rate(answer.reservation.mostGbpsOnALink)], ['After a failure', answer.reservation.coversLinkFailure ? 'covered' : 'not covered'], ['Class', answer.qos?.class ?? '–']]} />
          ) : (
            <p className="dim">No reservation: best effort on the network.</p>
          )}
        </Panel>
      )}
      {placed && answer.groups && Object.keys(answer.groups).length > 0 && <Panel title="Groups" flush><Groups groups={answer.groups} /></Panel>}
      {placed && answer.alternatives && answer.alternatives.length > 0 && (
        <Panel title="Alternatives" flush>
          <table className="data">
            <thead><tr><th>Change</th><th className="num">Step</th><th className="num">Communication</th></tr></thead>
            <tbody>{answer.alternatives.map((item) => <tr key={item.change}><td className="wrap">{item.change}</td><td className="num">{milliseconds(item.stepMs)}</td><td className="num">{milliseconds(item.communicationMs)}</td></tr>)}</tbody>
          </table>
        </Panel>
      )}
      {answer.links && <BlockedLinks links={answer.links} />}
      {answer.explanation && <Panel title="Why"><Explained explanation={answer.explanation} /></Panel>}
    </div>
  );
}
