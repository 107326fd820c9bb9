// What if: failures and placements computed on a snapshot. Nothing here touches the live fabric.
import { Button, Textarea } from '@mantine/core';
import { useQueries, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { body, client } from '../../api/client';
import { fabricQuery } from '../../api/queries';
import { useParam } from '../../parts/params';
import { command } from '../../model/cli';
import { count, milliseconds, words } from '../../model/format';
import { tone } from '../../model/tones';
import { Badge, Cli, Empty, Figure, Panel, Shown, Title } from '../../parts/basics';
import { DataTable } from '../../parts/table';
import { Tabs } from '../../parts/tabs';
import { Compared } from './compared';
import { Lab } from './lab';

const names = (text: string) => [...new Set(text.split(/[\s,]+/).filter(Boolean))];

function Failures() {
  const [links, setLinks] = useParam('links');
  const [switches, setSwitches] = useParam('switches');
  const [typedLinks, typeLinks] = useState(links.replaceAll(',', '\n'));
  const [typedSwitches, typeSwitches] = useState(switches.replaceAll(',', '\n'));
  const failLinks = names(links);
  const failSwitches = names(switches);
  const query = useQuery({
    queryKey: ['routes', 'diff', links, switches],
    queryFn: () => body(client.POST('/v1/routes/diff', { body: { ...(failLinks.length > 0 ? { failLinks } : {}), ...(failSwitches.length > 0 ? { failSwitches } : {}) } })),
    enabled: failLinks.length + failSwitches.length > 0,
    retry: false,
  });
  return (
    <Panel title="What if these fail" actions={<Cli line={command('routes', 'diff', ...failLinks.flatMap((link) => ['--fail-link', link]), ...failSwitches.flatMap((name) => ['--fail-switch', name]))} />}>
      <div className="grid">
        <form
          className="form s4"
          onSubmit={(event) => {
            event.preventDefault();
            setLinks(names(typedLinks).join(','));
            setTimeout(() => setSwitches(names(typedSwitches).join(',')));
          }}
        >
          <Textarea label="Switches" description="By name or GUID" autosize minRows={2} maxRows={8} value={typedSwitches} onChange={(event) => typeSwitches(event.currentTarget.value)} />
          <Textarea label="Links" description="By their ids" autosize minRows={2} maxRows={8} value={typedLinks} onChange={(event) => typeLinks(event.currentTarget.value)} />
          <div><Button type="submit" size="xs">What if</Button></div>
        </form>
        <div className="s8">
          {failLinks.length + failSwitches.length === 0 ? (
            <Empty title="Name links or switches"><p>Routes are computed around them on a snapshot; nothing is written.</p></Empty>
          ) : (
            <Shown query={query}>
              {(diff) => (
                <div className="stack" data-testid="diff">
                  <div className="figures">
                    <Figure value={count(diff.changedEntries)} label="entries change" />
                    <Figure value={count(diff.changedBlocks)} label={`blocks on ${count(diff.changedSwitches)} switches`} />
                    <Figure value={count(diff.urgentWrites)} label="written first, for running jobs" />
                    <Figure value={diff.stages} label="stages" />
                  </div>
                  {diff.dropsFirst && <div className="problem warn">Old and new routes could wait for each other: what changes drops packets for a moment.</div>}
                  <Compared before={diff.before} after={diff.after} />
                  {diff.findings.length > 0 && <ul className="list">{diff.findings.map((finding) => <li key={finding.message}><Badge tone={tone(finding.severity)}>{finding.severity}</Badge><span className="what">{finding.message}</span></li>)}</ul>}
                  <DataTable name="changed" rows={diff.switches} height={260} rowKey={(item) => item.switch} columns={[
                    { id: 'switch', name: 'Switch', value: (item) => item.switch, cell: (item) => <Link to="/switches/$id" params={{ id: item.switch }}>{item.switch}</Link> },
                    { id: 'entries', name: 'Entries', value: (item) => item.entries, num: true },
                    { id: 'blocks', name: 'Blocks', value: (item) => item.blocks, num: true },
                  ]} />
                </div>
              )}
            </Shown>
          )}
        </div>
      </div>
    </Panel>
  );
}

const SHAPES = ['8x1x1', '8x1x4', '8x2x4', '8x4x4', '8x4x8', '8x8x8'];

// Several shapes side by side: which fit now, and what each would take.
function Shapes() {
  const [text, setText] = useParam('shapes', SHAPES.join(' '));
  const [typed, type] = useState(text);
  const fabric = useQuery(fabricQuery());
  const shapes = names(text).map((shape) => ({ shape, factors: shape.split('x').map(Number) })).filter(({ factors }) => factors.length === 3 && factors.every((n) => Number.isInteger(n) && n > 0)).slice(0, 12);
  const answers = useQueries({
    queries: shapes.map(({ shape, factors: [tensor = 1, pipeline = 1, data = 1] }) => ({
      queryKey: ['jobs', 'shape', shape, fabric.data?.freeGpus],
      queryFn: () => body(client.POST('/v1/placements/query', { params: { query: {} }, body: { parallelism: { tensor, pipeline, data } } as never })),
      enabled: (fabric.data?.gpus ?? 0) > 0,
      retry: false,
    })),
  });
  return (
    <Panel
      title="Which of these would fit"
      flush
      actions={
        <form className="row" onSubmit={(event) => { event.preventDefault(); setText(typed); }}>
          <input className="filter" style={{ width: 300 }} aria-label="Shapes, TP x PP x DP" value={typed} onChange={(event) => type(event.target.value)} />
          <button type="submit" className="link-button">Compare</button>
        </form>
      }
    >
      <div className="table-box" tabIndex={0} role="region" aria-label="Shapes">
        <table className="data">
          <thead><tr><th>TP x PP x DP</th><th className="num">GPUs</th><th>Outcome</th><th>Within one</th><th className="num">Nodes</th><th className="num">NVLink domains</th><th className="num">Communication</th><th>Reason</th><th></th></tr></thead>
          <tbody>
            {shapes.map(({ shape, factors: [tensor = 1, pipeline = 1, data = 1] }, i) => {
              const answer = answers[i]?.data;
              return (
                <tr key={shape}>
                  <td>{shape}</td><td className="num">{count(tensor * pipeline * data)}</td>
                  <td>{answer ? <Badge tone={tone(answer.outcome)}>{answer.outcome === 'placed' ? 'fits' : words(answer.outcome)}</Badge> : <span className="dim">asking</span>}</td>
                  <td>{answer?.placement ? words(answer.placement.level) : '–'}</td><td className="num">{answer?.placement?.nodesUsed ?? '–'}</td><td className="num">{answer?.placement?.domainsUsed ?? '–'}</td>
                  <td className="num">{milliseconds(answer?.predicted?.communicationMs)}</td><td className="wrap">{answer?.reason ?? ''}</td>
                  <td><Link to="/submit" search={{ tensor: String(tensor), pipeline: String(pipeline), data: String(data) } as never}>Open</Link></td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
    </Panel>
  );
}

export function Planning() {
  const [tab] = useParam('tab', 'present');
  return (
    <>
      <Title badge={<Badge tone="info">on a snapshot: nothing is changed</Badge>}>Planning</Title>
      <Tabs name="tab" tabs={[['present', 'The present fabric'], ['lab', 'Other fabrics']]} />
      {tab === 'lab' ? <Lab /> : <div className="stack"><Failures /><Shapes /></div>}
    </>
  );
}
