// A cable or a bundle of the map: what is told where it is pointed at, and what can be done where it is chosen.
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { linksAtQuery } from '../../api/queries';
import { count, percent, rate } from '../../model/format';
import type { FabricMap } from '../../model/map/layout';
import { endsOf, type Strand } from '../../model/map/strands';
import { May } from '../../parts/may';

const sumOf = (strand: Strand, map: FabricMap) => {
  const bundles = strand.bundles.map((at) => map.bundles[at]!);
  const total = (of: 'links' | 'down' | 'degraded' | 'held' | 'unknown' | 'drained') => bundles.reduce((sum, bundle) => sum + bundle[of], 0);
  const loads = bundles.map((bundle) => bundle.utilisation).filter((use) => use !== null);
  const troubles = ([['down', 'down'], ['degraded', 'degraded'], ['held', 'held'], ['unknown', 'not seen now'], ['drained', 'drained']] as const).filter(([of]) => total(of) > 0).map(([of, said]) => `${count(total(of))} ${said}`);
  const ofJob = bundles.reduce<{ links: number; gbps: number; share: number } | undefined>((sum, { job }) => (job ? { links: (sum?.links ?? 0) + job.links, gbps: Math.max(sum?.gbps ?? 0, job.gbps), share: Math.max(sum?.share ?? 0, job.share) } : sum), undefined);
  return { ofJob, links: total('links'), gbps: bundles.reduce((sum, bundle) => sum + bundle.rateGbps, 0), fullest: loads.length > 0 ? Math.max(...loads) : null, troubles };
};

function CableFacts({ strand, map }: { strand: Strand; map: FabricMap }) {
  const { links, gbps, fullest, troubles, ofJob } = sumOf(strand, map);
  return (
    <>
      <b>{endsOf(map, strand)}</b>
      <div>{links === 1 ? 'one cable' : `${count(links)} cables`}, {rate(gbps)}{troubles.length > 0 ? `; ${troubles.join(', ')}` : ', in order'}</div>
      {fullest !== null && <div>fullest cable {percent(fullest)}</div>}
      {ofJob && <div>the job sends over {ofJob.links === 1 ? 'one' : count(ofJob.links)} of them, {rate(ofJob.gbps)} ({percent(ofJob.share)}) at most</div>}
    </>
  );
}

export function CableTip({ strand, map, at, width }: { strand: Strand; map: FabricMap; at: { x: number; y: number }; width: number }) {
  return <div className="map-tip" style={{ left: Math.min(at.x + 14, Math.max(0, width - 300)), top: at.y + 14 }} data-testid="cable-tip"><CableFacts strand={strand} map={map} /></div>;
}

// The cables of a bundle between two devices, by their ids: read when it is chosen.
function useCables(strand: Strand, map: FabricMap): string[] {
  const bundle = map.bundles[strand.bundles[0]!]!;
  const ends = strand.bundles.length === 1 ? [map.groups[bundle.from]!, map.groups[bundle.to]!] : [];
  const at = ends.find((group) => group.kind === 'switch');
  const other = ends.find((group) => group !== at && (group.kind === 'switch' || group.kind === 'node'));
  const wanted = bundle.link === null && at !== undefined && other !== undefined;
  const links = useQuery({ ...linksAtQuery({ switch: at?.name ?? '' }), enabled: wanted });
  if (bundle.link !== null && strand.bundles.length === 1) return [bundle.link];
  if (!wanted) return [];
  return (links.data?.items ?? []).filter((link) => link.ends.some((end) => ('switch' in end && end.switch === other.name) || ('node' in end && end.node === other.name))).map((link) => link.id);
}

// What was clicked on, and what can be done with it: a cable's view, and a drain that begins with its preview.
export function Chosen({ strand, map, close }: { strand: Strand; map: FabricMap; close: () => void }) {
  const cables = useCables(strand, map);
  return (
    <div className="map-chosen" data-testid="chosen">
      <CableFacts strand={strand} map={map} />
      <div className="row">
        {cables.slice(0, MOST_OPENED).map((id, i) => <Link key={id} to="/links/$" params={{ _splat: id }} title={id}>{cables.length === 1 ? 'Open' : `Cable ${i + 1}`}</Link>)}
        {cables.length > 0 && <May call="POST /v1/links/{id}/drain"><Link to="/drain" search={{ kind: 'link', id: cables.join(',') } as never}>{cables.length === 1 ? 'Drain' : `Drain all ${cables.length}`}</Link></May>}
        <button type="button" className="link-button" onClick={close}>Close</button>
      </div>
    </div>
  );
}
const MOST_OPENED = 8;
