// Two audits side by side.
import { isVerified, type Schema } from '../../api/client';
import { count } from '../../model/format';
import { Badge } from '../../parts/basics';

export function Compared({ before, after }: { before: Schema['RoutesAudit']; after: Schema['RoutesAudit'] }) {
  const lines: [string, string | number, string | number, boolean][] = [
    ['Verdict', isVerified(before) ? 'verified' : 'not verified', isVerified(after) ? 'verified' : 'not verified', !isVerified(after) && isVerified(before)],
    ['Unreachable pairs', before.unreachablePairs, after.unreachablePairs, after.unreachablePairs > before.unreachablePairs],
    ['Pairs cut off', before.cutOffPairs, after.cutOffPairs, after.cutOffPairs > before.cutOffPairs],
    ['Credit cycles', before.creditLoops, after.creditLoops, after.creditLoops > before.creditLoops],
    ['Longest route', before.longestRoute, after.longestRoute, after.longestRoute > before.longestRoute],
    ['Pairs on the fullest link', before.maxLinkLoad, after.maxLinkLoad, after.maxLinkLoad > before.maxLinkLoad * 1.1],
    ['Worst shift load', before.worstShiftLoad, after.worstShiftLoad, after.worstShiftLoad > before.worstShiftLoad],
  ];
  return (
    <table className="data">
      <thead><tr><th>Audit over every pair</th><th className="num">Now</th><th className="num">Then</th></tr></thead>
      <tbody>
        {lines.map(([name, a, b, worse]) => (
          <tr key={name}><td>{name}</td><td className="num">{typeof a === 'number' ? count(a) : a}</td><td className="num">{worse ? <Badge tone="bad">{typeof b === 'number' ? count(b) : b}</Badge> : typeof b === 'number' ? count(b) : b}</td></tr>
        ))}
      </tbody>
    </table>
  );
}
