// Who of a job talks to whom, over what: predicted, and beside it what is measured of the cables on the way.
import { useComputedColorScheme } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useMemo, useRef, useState, type PointerEvent } from 'react';
import { body, client, type Schema } from '../../api/client';
import { jobTrafficQuery, pathQuery } from '../../api/queries';
import { useParam } from '../../parts/params';
import { command } from '../../model/cli';
import { csv } from '../../model/csv';
import { bytes, count, percent, rate, words } from '../../model/format';
import type { Pen } from '../../model/map/draw';
import { ALPHAS, drawPairs, nodeOf, OVER, pairAt, PAIR_COLUMNS, pairGrid, pairRows, sentOf, STEPS, totals, type JobTraffic, type Pair, type PairColouring } from '../../model/plots/pairs';
import { SvgPen } from '../../model/map/svg_pen';
import { useBoxSize, useDrawing } from '../../parts/canvas';
import { Cli, Empty, Legend, Panel, Shown } from '../../parts/basics';
import { saveBlob, saveFile } from '../../parts/table';
import { useMay } from '../../api/caller';

const overText = (over: Pair['over']) => OVER.find(([name]) => name === over)![2];

function PairFacts({ traffic, pair }: { traffic: JobTraffic; pair: Pair }) {
  return (
    <>
      <b>{traffic.ends[pair.from]} → {pair.to === null ? 'switches that reduce' : traffic.ends[pair.to]}</b>
      <div>{pair.gbps === null ? '' : `${rate(pair.gbps)} in the mean, `}{bytes(pair.bytes)} a step, {overText(pair.over)}</div>
      <div className="dim">{pair.groups.map(words).join(', ')}</div>
    </>
  );
}

const MOST_ASKED = 12; // cables of a route whose load is asked for

// The cables between two nodes as the tables lead, with what is measured of them now: of all jobs, as counters know no jobs.
function Seen({ from, to }: { from: string; to: string }) {
  const path = useQuery(pathQuery(from, to));
  const ids = useMemo(() => [...new Set((path.data?.paths ?? []).flatMap((one) => one.hops.map((hop) => hop.link)).filter((id) => id !== null && id !== undefined))].slice(0, MOST_ASKED), [path.data]);
  const links = useQuery({
    queryKey: ['links', 'of route', ...ids],
    queryFn: () => Promise.all(ids.map((id) => body(client.GET('/v1/links/{id}', { params: { path: { id } } })))),
    enabled: ids.length > 0,
    refetchInterval: 10_000,
  });
  if (path.error) return <p className="dim">No route is known between them.</p>;
  if (!path.data || (ids.length > 0 && !links.data)) return <p className="dim">Asking for the route</p>;
  const read = (links.data ?? []).filter((link) => link.utilisation !== null);
  const fullest = read.reduce<Schema['Link'] | undefined>((most, link) => (most && most.utilisation! >= link.utilisation! ? most : link), undefined);
  return (
    <p data-testid="seen">
      Seen: {fullest ? <>the fullest of {count(ids.length)} cables on the way carries {percent(fullest.utilisation!)} of {rate(fullest.rateGbps)} now, of all jobs (<Link to="/links/$" params={{ _splat: fullest.id }}>{fullest.name}</Link>)</> : 'no counters are read on the way'}. <Link to="/path" search={{ from, to } as never}>The route, hop by hop</Link>
    </p>
  );
}

function Drawn({ traffic }: { traffic: JobTraffic }) {
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const scheme = useComputedColorScheme('dark');
  const may = useMay();
  const [by, setBy] = useParam('pairs', 'over');
  const colouring: PairColouring = by === 'rate' ? 'rate' : 'over';
  const size = useBoxSize(box);
  const [over, setOver] = useState<Pair | null>(null);
  const [chosen, setChosen] = useState<Pair | null>(null);
  const [pointer, setPointer] = useState({ x: 0, y: 0 });
  const grid = useMemo(() => pairGrid(traffic.ends.length, size.width, size.height), [traffic, size]);
  const style = () => getComputedStyle(document.documentElement);
  const draw = (pen: Pen, marked: Pair | null) => drawPairs(pen, traffic, grid, { colouring, color: (ink) => style().getPropertyValue(`--${ink}`).trim(), font: style().getPropertyValue('--font-ui'), marked });
  useDrawing(canvas, size, (pen) => draw(pen, over ?? chosen), [traffic, grid, colouring, over, chosen, scheme]);
  const under = (event: PointerEvent) => {
    const at = canvas.current!.getBoundingClientRect();
    const place = { x: event.clientX - at.left, y: event.clientY - at.top };
    setPointer(place);
    return pairAt(traffic, grid, place.x, place.y);
  };
  const save = (kind: 'svg' | 'png' | 'csv') => {
    if (kind === 'png') return canvas.current!.toBlob((blob) => blob && saveBlob(`${traffic.job}-pairs.png`, blob));
    if (kind === 'csv') return saveFile(`${traffic.job}-pairs.csv`, csv(PAIR_COLUMNS, pairRows(traffic)), 'text/csv');
    const pen = new SvgPen();
    draw(pen, chosen);
    saveFile(`${traffic.job}-pairs.svg`, pen.text(size.width, size.height, style().getPropertyValue('--panel').trim(), 'sans-serif'), 'image/svg+xml');
  };
  const most = Math.max(...traffic.pairs.map(sentOf));
  const sent = (value: number) => (traffic.pairs.some((pair) => pair.gbps === null) ? bytes(value) : rate(value));
  const legend = colouring === 'over' ? totals(traffic).map((one): [string, string] => [`var(--${OVER.find(([name]) => name === one.over)![1]})`, `${overText(one.over)}: ${count(one.pairs)} pairs, ${bytes(one.bytes)} a step`]) : ALPHAS.map((alpha, i): [string, string] => [`color-mix(in srgb, var(--accent) ${Math.round(alpha * 100)}%, var(--panel-2))`, i === 0 ? `below ${sent(most * STEPS[0]!)}` : `from ${sent(most * STEPS[i - 1]!)}`]);
  return (
    <Panel
      title="Who talks to whom"
      flush
      actions={
        <>
          <select className="select" aria-label="Colour pairs by" value={colouring} onChange={(event) => setBy(event.target.value)}>
            <option value="over">Over what</option>
            <option value="rate">How much</option>
          </select>
          <Cli line={command('jobs', 'traffic', traffic.job)} />
        </>
      }
    >
      <div className="map-box pairs-box" ref={box}>
        <canvas
          ref={canvas}
          role="img"
          aria-label={`Matrix of ${traffic.ends.length} ${traffic.by === 'gpu' ? 'GPUs' : 'nodes'}: ${traffic.pairs.length} pairs of which one sends to the other. CSV has the same.`}
          data-testid="pairs"
          onPointerMove={(event) => setOver(under(event))}
          onPointerLeave={() => setOver(null)}
          onClick={(event) => setChosen(under(event as unknown as PointerEvent))}
        />
        <div className="map-tools">
          <button type="button" className="link-button" aria-label="Save the pairs as SVG" onClick={() => save('svg')}>SVG</button>
          <button type="button" className="link-button" aria-label="Save the pairs as PNG" onClick={() => save('png')}>PNG</button>
          <button type="button" className="link-button" aria-label="Save the pairs as CSV" onClick={() => save('csv')}>CSV</button>
        </div>
        {over && over !== chosen && <div className="map-tip" data-testid="pair-tip" style={{ left: Math.min(pointer.x + 14, Math.max(0, size.width - 300)), top: pointer.y + 14 }}><PairFacts traffic={traffic} pair={over} /></div>}
      </div>
      {chosen && (
        <div className="map-note" data-testid="pair-chosen">
          <PairFacts traffic={traffic} pair={chosen} />
          {chosen.to === null || chosen.over === 'nvlink' || chosen.over === 'host' ? <p className="dim">It crosses no cable of the network.</p> : may('GET /v1/routes/path') ? <Seen from={nodeOf(traffic, chosen.from)} to={nodeOf(traffic, chosen.to)} /> : null}
        </div>
      )}
      {traffic.roles.length > 0 && <Roles traffic={traffic} />}
      <div className="map-key">
        <Legend items={legend} />
        <span className="dim">Predicted, {traffic.assumed ? 'of a default model: the job names neither model nor traffic' : 'from its parallelism and its model'}{traffic.incomplete && '; not all pairs are shown'}; a click shows what is measured on the way</span>
      </div>
    </Panel>
  );
}

// What it exchanges with the other roles of its gang.
function Roles({ traffic }: { traffic: JobTraffic }) {
  return (
    <ul className="map-note" data-testid="roles" aria-label="Traffic with other roles">
      {traffic.roles.map((role) => (
        <li key={`${role.job} ${role.sends}`}>
          {role.sends ? 'Sends' : 'Receives'} {bytes(role.bytes)} a step{role.gbps !== null && ` (${rate(role.gbps)} in the mean)`} {role.sends ? 'to' : 'from'} <Link to="/jobs/$id" params={{ id: role.job }}>{role.role}</Link>, {overText(role.over)}
        </li>
      ))}
    </ul>
  );
}

export function JobPairs({ id }: { id: string }) {
  const query = useQuery(jobTrafficQuery(id));
  return (
    <Shown query={query} lines={8}>
      {(traffic) => (traffic.pairs.length === 0 ? <Panel title="Who talks to whom">{traffic.roles.length > 0 ? <Roles traffic={traffic} /> : <Empty title={traffic.ends.length === 0 ? 'It holds no GPUs' : traffic.incomplete ? 'There are too many pairs to be listed' : 'Its GPUs send nothing to each other'} />}</Panel> : <Drawn traffic={traffic} />)}
    </Shown>
  );
}
