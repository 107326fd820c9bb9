// The wizard: what, what it would do, draining, safe to unplug, undo. Several of one kind are drained one after another,
// each previewed on what the ones before left.
import { Button, Checkbox, Stepper, Textarea, TextInput } from '@mantine/core';
import { useMutation, useQueries, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { body, client, type Schema } from '../../api/client';
import { drainsQuery, linkQuery, nodeQuery, switchQuery } from '../../api/queries';
import { useParam } from '../../parts/params';
import { drainCommand, parseTargets, routeChange, stepOf, targetTexts, together, type DrainKind, type Target } from '../../model/drain';
import { count, percent, words } from '../../model/format';
import { tone } from '../../model/tones';
import { Badge, Cli, Empty, Facts, Figure, Loading, Panel, ProblemBox, SubjectLink, Title, When } from '../../parts/basics';

const PATHS = { link: '/v1/links/{id}/drain', switch: '/v1/switches/{id}/drain', node: '/v1/nodes/{id}/drain' } as const;
const BACK = { link: '/v1/links/{id}/undrain', switch: '/v1/switches/{id}/undrain', node: '/v1/nodes/{id}/undrain' } as const;

function drain({ kind, id }: Target, dryRun: boolean, request: { reason: string; force: boolean }) {
  return body(client.POST(PATHS[kind], { params: { path: { id }, query: dryRun ? { dryRun } : {} }, body: request })) as Promise<Schema['DrainAnswer']>;
}

function Preview({ answers }: { answers: Schema['DrainAnswer'][] }) {
  const all = together(answers);
  return (
    <div className="stack" data-testid="preview">
      <div className={`problem ${all.safe ? 'good' : ''}`}>
        <b>{all.safe ? 'Nothing objects' : 'Refused, unless forced'}</b>
        {all.objections.map((objection) => <div key={objection}>{objection}</div>)}
      </div>
      <div className="figures">
        <Figure value={count(all.jobs.length)} label="jobs affected" tone={all.jobs.some((job) => job.effect === 'cutOff') ? 'bad' : 'none'} />
        <Figure value={count(all.guarantees.length)} label="guarantees at risk" tone={all.guarantees.length > 0 ? 'bad' : 'none'} />
        <Figure value={count(all.cutsOff)} label="ports cut off" />
        <Figure value={count(all.entries)} label="table entries change" />
        {all.capacity !== null && <Figure value={percent(all.capacity, 1)} label="of the capacity between tiers stays" />}
      </div>
      {all.jobs.length > 0 && (
        <ul className="list" style={{ margin: '0 -12px' }}>
          {all.jobs.slice(0, 30).map((job) => (
            <li key={job.job}><Badge tone={job.effect === 'cutOff' ? 'bad' : job.effect === 'onNode' ? 'warn' : 'info'}>{words(job.effect)}</Badge><span className="what"><SubjectLink kind="job" id={job.job} /> {job.name} <span className="dim">{job.tenant}</span></span></li>
          ))}
        </ul>
      )}
      {all.guarantees.map((item) => (
        <div className="problem" key={item.job}><b><SubjectLink kind="job" id={item.job} /> would lose its guarantee</b><div>{item.reason}</div></div>
      ))}
    </div>
  );
}

// Several at once cost more than each alone: the routes with all of them out of use.
function useTogether(targets: Target[]) {
  const change = targets.length > 1 ? routeChange(targets) : undefined;
  return useQuery({ queryKey: ['routes', 'diff', 'drains', targetTexts('link', targets).join(',')], queryFn: () => body(client.POST('/v1/routes/diff', { body: change! })), enabled: change !== undefined, retry: false });
}

function Together({ targets }: { targets: Target[] }) {
  const diff = useTogether(targets);
  if (routeChange(targets) === undefined) return null;
  return (
    <Panel title="All of them together">
      {diff.error ? <ProblemBox error={diff.error} retry={() => void diff.refetch()} /> : !diff.data ? <Loading lines={2} /> : (
        <div className="stack" data-testid="together">
          <div className="figures">
            <Figure value={count(diff.data.cutsOffCount)} label="ports cut off" tone={diff.data.cutsOffCount > 0 ? 'bad' : 'none'} />
            <Figure value={count(diff.data.changedEntries)} label="table entries change" />
            <Figure value={`${count(diff.data.before.maxLinkLoad)} → ${count(diff.data.after.maxLinkLoad)}`} label="pairs on the fullest link" tone={diff.data.after.maxLinkLoad > 1.5 * diff.data.before.maxLinkLoad ? 'warn' : 'none'} />
            <Figure value={diff.data.stages} label="stages" />
          </div>
          {diff.data.cutsOff.length > 0 && <div className="problem"><b>Together they cut off</b><div>{diff.data.cutsOff.slice(0, 20).map((port) => port.device).join(', ')}{diff.data.cutsOffCount > 20 && ' …'}</div></div>}
        </div>
      )}
    </Panel>
  );
}

function Progress({ target, drained, reason }: { target: Target; drained: Schema['Drain'] | undefined; reason: string }) {
  const queries = useQueryClient();
  const undo = useMutation({
    mutationFn: () => body(client.POST(BACK[target.kind], { params: { path: { id: target.id } }, body: { reason } })),
    onSettled: () => queries.invalidateQueries(),
  });
  if (!drained) return null;
  return (
    <div className="stack">
      <div className={`problem ${drained.state === 'drained' ? 'good' : 'warn'}`} data-testid="progress">
        <b>{drained.state === 'drained' ? 'Safe to unplug' : words(drained.state)}</b>
        <div><SubjectLink kind={target.kind} id={target.id} /></div>
        {drained.waitsFor && <div>{drained.waitsFor}</div>}
      </div>
      <Facts items={[['Reason', drained.reason || '–'], ['By', drained.actor], ['Requested', <When key="r" at={drained.requestedAt} />], ['In this state since', <When key="c" at={drained.changedAt} />], ['Forced', drained.forced ? 'yes' : 'no']]} />
      {undo.error && <ProblemBox error={undo.error} />}
      <div className="row">
        <Button size="xs" variant="default" loading={undo.isPending} onClick={() => undo.mutate()}>Take it back into use</Button>
        <Cli line={drainCommand(target, { undo: true })} />
      </div>
    </div>
  );
}

export function DrainWizard() {
  const [kind, setKind] = useParam('kind', 'link');
  const [ids, setIds] = useParam('id');
  const [typed, setTyped] = useState(ids.replaceAll(',', '\n'));
  const [reason, setReason] = useState('');
  const [force, setForce] = useState(false);
  const queries = useQueryClient();
  const targets = parseTargets(kind as DrainKind, ids);
  const drains = useQuery({ ...drainsQuery(), refetchInterval: 2000 });

  // A drain is known by its link, its GUID or its name: the object itself says which drain is its own.
  const objects = useQueries({
    queries: targets.map((target) => (target.kind === 'link' ? linkQuery(target.id) : target.kind === 'switch' ? switchQuery(target.id) : nodeQuery(target.id)) as ReturnType<typeof nodeQuery>),
  });
  const names = targets.map((target, i) => {
    const object = objects[i]?.data as { id: string; guid?: string } | undefined;
    return [target.id, object?.id, object?.guid].filter((name): name is string => name !== undefined);
  });
  const found = targets.map((target, i) => drains.data?.items.find((item) => (item.kind === 'siteLink' ? 'link' : item.kind) === target.kind && names[i]!.includes(item.id)));
  const open = targets.filter((_, i) => !found[i]);
  const preview = useQuery({
    queryKey: ['drains', 'preview', targetTexts('link', open).join(',')],
    queryFn: () => Promise.all(open.map((target) => drain(target, true, { reason: '', force: false }))),
    enabled: open.length > 0 && drains.data !== undefined,
    retry: false,
    staleTime: 5000,
  });
  const start = useMutation({
    mutationFn: async () => {
      for (const target of open) await drain(target, false, { reason, force }); // in order: each is judged on the one before
    },
    onSettled: () => queries.invalidateQueries(),
  });
  const states = found.map((item) => item?.state);
  const slowest = states.length === 0 ? undefined : states.includes(undefined) ? undefined : states.every((state) => state === 'drained') ? 'drained' : (states.find((state) => state !== 'drained') ?? undefined);
  const step = targets.length === 0 ? 0 : stepOf(slowest, true);
  const all = useTogether(open);
  const safe = (preview.data ? together(preview.data).safe : false) && (all.data?.cutsOffCount ?? 0) === 0;
  return (
    <>
      <Title badge={slowest ? <Badge tone={tone(slowest)}>{slowest === 'drained' ? 'safe to unplug' : words(slowest)}</Badge> : undefined} actions={<Link to="/drains">All drains</Link>}>Drain</Title>
      <div className="stack">
        <Panel title="Steps">
          <Stepper active={step} size="xs" iconSize={26}>
            <Stepper.Step label="What" description="links, switches or nodes" />
            <Stepper.Step label="Preview" description="what it would do" />
            <Stepper.Step label="Under way" description="traffic or jobs move" />
            <Stepper.Step label="Safe to unplug" description="tables read back" />
          </Stepper>
        </Panel>
        <div className="grid">
          <Panel title="What" className="s4">
            <form className="form" onSubmit={(event) => { event.preventDefault(); setIds(targetTexts(kind as DrainKind, parseTargets(kind as DrainKind, typed)).join(',')); }}>
              <label className="row"><span className="dim">Kind</span>
                <select className="select" value={kind} onChange={(event) => setKind(event.target.value)}>
                  <option value="link">Link</option><option value="switch">Switch</option><option value="node">Node</option>
                </select>
              </label>
              <Textarea label={kind === 'link' ? 'Links, by their ids' : kind === 'switch' ? 'Switches, by name, GUID or LID' : 'Nodes, by name'} description="Several lines are one maintenance window; others as switch:leaf-1, node:dgx-1, link:…" autosize minRows={2} maxRows={8} value={typed} onChange={(event) => setTyped(event.currentTarget.value)} />
              <div><Button type="submit" size="xs" variant="default">Preview</Button></div>
            </form>
          </Panel>
          <div className="s8 stack">
            {targets.length === 0 && <Panel title="Preview"><Empty title="Name what is to be taken out of use"><p>Every link, switch and node has a Drain link in its view.</p></Empty></Panel>}
            {open.length > 1 && <Together targets={open} />}
            {open.length > 0 && (
              <Panel title={open.length === 1 ? 'What it would do' : `What these ${open.length} would do, each alone`}>
                <div className="stack">
                  {preview.error ? <ProblemBox error={preview.error} retry={() => void preview.refetch()} /> : preview.data ? <Preview answers={preview.data} /> : <Loading />}
                  <TextInput label="Reason" description="Shown with the drain and in the history" value={reason} maxLength={500} onChange={(event) => setReason(event.currentTarget.value)} />
                  {!safe && preview.data && <Checkbox label="Force it, in spite of the objections" description="A reason is needed" checked={force} onChange={(event) => setForce(event.currentTarget.checked)} />}
                  {start.error && <ProblemBox error={start.error} />}
                  {open.map((target) => <Cli key={target.id} line={drainCommand(target, { force, reason })} />)}
                  <div className="row">
                    <Button color={safe ? undefined : 'red'} disabled={!preview.data || (!safe && (!force || reason.trim() === ''))} loading={start.isPending} onClick={() => start.mutate()}>
                      {open.length === 1 ? 'Drain it' : `Drain these ${open.length}`}
                    </Button>
                  </div>
                </div>
              </Panel>
            )}
            {targets.map((target, i) => found[i] && <Panel key={target.id} title="Progress"><Progress target={target} drained={found[i]} reason={reason} /></Panel>)}
          </div>
        </div>
      </div>
    </>
  );
}
