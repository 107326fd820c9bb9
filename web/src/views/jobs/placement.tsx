// A placement drawn: racks, nodes and GPUs, coloured by one coordinate of the job's parallelism.
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useMemo } from 'react';
import { domainsQuery, nodesQuery, railsQuery } from '../../api/queries';
import { useParam } from '../../parts/params';
import { paletteColor } from '../../model/colors';
import { arrange, byRail, COORDINATES, telling, type Coordinate, type Rank } from '../../model/placement';
import { Legend, Panel } from '../../parts/basics';

const DRAWN_RANKS = 4096;

export function PlacementDrawing({ ranks, title = 'Placement' }: { ranks: Rank[]; title?: string }) {
  const nodes = useQuery(nodesQuery());
  const rails = useQuery(railsQuery());
  const domains = useQuery(domainsQuery());
  const tells = useMemo(() => telling(ranks), [ranks]);
  const [by, setBy] = useParam('color', tells[0] ?? 'dp');
  const [within, setWithin] = useParam('group', 'rack');
  const coordinate = (COORDINATES.some(([name]) => name === by) ? by : 'dp') as Coordinate;
  const racks = useMemo(() => {
    const known = new Map((nodes.data?.items ?? []).map((node) => [node.id, node]));
    const domainOf = new Map((domains.data?.items ?? []).flatMap((domain) => domain.nodes.map((node): [string, string] => [node, domain.id])));
    return arrange(
      ranks.slice(0, DRAWN_RANKS),
      (node) => (within === 'domain' ? (domainOf.get(node) ?? 'no NVLink domain') : (known.get(node)?.rack ?? 'no rack')),
      (node) => known.get(node)?.gpus ?? 1,
    );
  }, [ranks, nodes.data, domains.data, within]);
  const values = [...new Set(ranks.map((rank) => rank[coordinate]))].sort((a, b) => a - b);
  const short = coordinate.toUpperCase();
  return (
    <Panel
      title={title}
      actions={
        <>
          <select className="select" aria-label="Arrange by" value={within} onChange={(event) => setWithin(event.target.value)}>
            <option value="rack">By rack</option>
            <option value="domain">By NVLink domain</option>
          </select>
          <select className="select" aria-label="Colour ranks by" value={coordinate} onChange={(event) => setBy(event.target.value)}>
            {COORDINATES.filter(([name]) => tells.includes(name) || name === coordinate).map(([name, text]) => <option key={name} value={name}>{text}</option>)}
          </select>
        </>
      }
    >
      <div className="stack">
        <div className="racks" data-testid="placement">
          {racks.map((rack) => (
            <div className="rack" key={rack.name}>
              <h3>{rack.name}</h3>
              {rack.hosts.map((host) => (
                <div className="host" key={host.node}>
                  <Link to="/nodes/$id" params={{ id: host.node }} title={host.node}>{host.node}</Link>
                  <div className="gpus">
                    {Array.from({ length: host.size }, (_, gpu) => {
                      const rank = host.gpus.get(gpu);
                      return rank ? (
                        <span key={gpu} className="gpu on" style={{ background: paletteColor(values.indexOf(rank[coordinate])) }} title={`rank ${rank.rank}: GPU ${gpu}, TP ${rank.tp} PP ${rank.pp} DP ${rank.dp} CP ${rank.cp} EP ${rank.ep}${rank.nics[0] ? `, ${rank.nics[0].device}` : ''}`}>
                          {rank[coordinate]}
                        </span>
                      ) : (
                        <span key={gpu} className="gpu" title={`GPU ${gpu}: not of this job`} />
                      );
                    })}
                  </div>
                </div>
              ))}
            </div>
          ))}
        </div>
        <Legend items={values.slice(0, 16).map((value): [string, string] => [paletteColor(values.indexOf(value)), `${short} ${value}`])} />
        {values.length > 8 && <p className="dim">Colours repeat after eight; the number on each GPU is its {short}.</p>}
        {ranks.length > DRAWN_RANKS && <p className="dim">The first {DRAWN_RANKS} of {ranks.length} ranks are drawn.</p>}
        <p className="dim">
          Rails: {byRail(ranks).map(([rail, n], i) => <span key={rail}>{i > 0 && ', '}{rails.data?.items[rail]?.id ?? rail} {n}</span>)}
          {byRail(ranks).length === 0 && 'not known'}
        </p>
      </div>
    </Panel>
  );
}
