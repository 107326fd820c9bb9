// Fabrics that do not exist yet: generated or uploaded, jobs placed on them, parts of them failed, plans compared. The
// service works each out in a state of its own and keeps nothing.
import { Button, NativeSelect, Textarea, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { body, client, type Schema } from '../../api/client';
import { useParams_, type Search } from '../../parts/params';
import { useNavigate } from '@tanstack/react-router';
import { command } from '../../model/cli';
import { count, milliseconds, words } from '../../model/format';
import { EMPTY_LAB, figuresOf, KINDS, labRequest, outcomeOf, type LabForm } from '../../model/lab';
import { tone } from '../../model/tones';
import { Badge, Cli, Empty, Panel, ProblemBox } from '../../parts/basics';
import { saveFile } from '../../parts/table';
import { PlanMap } from '../fabric/map';
import { Compared } from './compared';

const MAX_FILE = 31 << 20; // what a request may hold

interface Plan {
  name: string;
  answer: Schema['LabAnswer'];
}

function formOf(search: Search): LabForm {
  return { ...EMPTY_LAB, ...Object.fromEntries(Object.entries(search).filter(([name, value]) => name in EMPTY_LAB && value !== undefined)) };
}

function Placements({ plan }: { plan: Plan }) {
  const { placements, after } = plan.answer;
  if (placements.length === 0) return <Empty title="No jobs were given" />;
  const cell = (item: Schema['BatchPlacement'] | undefined) => {
    const outcome = outcomeOf(item);
    return <Badge tone={tone(outcome)}>{outcome === 'placed' ? 'fits' : words(outcome)}</Badge>;
  };
  return (
    <div className="table-box" tabIndex={0} role="region" aria-label="Jobs of the plan">
      <table className="data">
        <thead><tr><th>TP x PP x DP</th><th>Outcome</th><th>Where, or why not</th><th className="num">Communication</th>{after && <th>After the failure</th>}{after && <th className="num">Then</th>}</tr></thead>
        <tbody>
          {placements.map((item, i) => {
            const placed = 'placement' in item ? item.placement : undefined;
            const where = placed?.placement;
            const then = after?.placements[i];
            return (
              <tr key={item.key}>
                <td>{item.key}</td><td>{cell(item)}</td>
                <td className="wrap">{where ? `within one ${words(where.level)}: ${count(where.nodesUsed)} nodes, ${count(where.domainsUsed)} NVLink domains` : placed ? (placed.reason ?? '') : 'problem' in item ? item.problem.detail : ''}</td>
                <td className="num">{milliseconds(placed?.predicted?.communicationMs)}</td>
                {after && <td>{cell(then)}</td>}{after && <td className="num">{milliseconds(then && 'placement' in then ? then.placement.predicted?.communicationMs : undefined)}</td>}
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

function Comparison({ plans, remove }: { plans: Plan[]; remove: (at: number) => void }) {
  const figures = plans.map((plan) => figuresOf(plan.answer));
  return (
    <Panel title="Plans" flush actions={<button type="button" className="link-button" onClick={() => saveFile('plans.json', JSON.stringify(plans, null, 1))}>JSON</button>}>
      <div className="table-box" tabIndex={0} role="region" aria-label="Plans compared">
        <table className="data" data-testid="plans">
          <thead><tr><th>Figure</th>{plans.map((plan, i) => <th key={i} className="num" title={plan.name}>{i + 1}. {plan.name.length > 16 ? `${plan.name.slice(0, 15)}…` : plan.name} <button type="button" className="link-button" aria-label={`Forget plan ${i + 1}`} onClick={() => remove(i)}>×</button></th>)}</tr></thead>
          <tbody>
            {figures[0]!.map(([name], row) => (
              <tr key={name}><td>{name}</td>{figures.map((of, i) => <td key={i} className="num">{of[row]![1] === null ? '–' : count(of[row]![1]!)}</td>)}</tr>
            ))}
          </tbody>
        </table>
      </div>
    </Panel>
  );
}

export function Lab() {
  const search = useParams_();
  const navigate = useNavigate();
  const [form, setForm] = useState<LabForm>(() => formOf(search));
  const [file, setFile] = useState<{ name: string; text: string } | undefined>();
  const [fileError, setFileError] = useState('');
  const [plans, setPlans] = useState<Plan[]>([]);
  const set = (name: keyof LabForm, value: string) => setForm({ ...form, [name]: value, ...(name === 'from' ? { parameters: KINDS.find(([kind]) => kind === value)?.[2] ?? form.parameters } : {}) });
  const request = labRequest(form, file?.text);
  const plan = useMutation({
    mutationFn: () => body(client.POST('/v1/lab', { body: request! as never })),
    onSuccess: (answer) => {
      const name = form.from === 'present' ? 'the present fabric' : form.from === 'file' ? file!.name : `${form.from} ${form.parameters}`;
      setPlans([...plans, { name, answer: answer as Schema['LabAnswer'] }].slice(-6));
      const changed = Object.fromEntries(Object.entries(form).filter(([key, value]) => value !== EMPTY_LAB[key as keyof LabForm]));
      void navigate({ to: '.', search: { tab: search.tab, ...changed } as never, replace: true });
    },
  });
  const read = async (chosen: File | null) => {
    setFileError('');
    setFile(undefined);
    if (!chosen) return;
    if (chosen.size > MAX_FILE) setFileError(`it has ${count(chosen.size / 1e6)} MB; railweave lab reads files of any size`);
    else setFile({ name: chosen.name, text: await chosen.text() });
  };
  const last = plans.at(-1);
  const parameters = form.parameters.split(/[\s,]+/).filter(Boolean).flatMap((part) => { const [name, value] = part.split('='); return [`--${name}`, value ?? '']; });
  return (
    <div className="grid">
      <Panel title="Fabric, jobs, failures" className="s4">
        <form className="form" onSubmit={(event) => { event.preventDefault(); if (request) plan.mutate(); }}>
          <NativeSelect label="Fabric" value={form.from} onChange={(event) => set('from', event.currentTarget.value)} data={[...KINDS.map(([value, label]) => ({ value, label: `Generated: ${label}` })), { value: 'file', label: 'From a file' }, { value: 'present', label: 'The present one, with its jobs' }]} />
          {form.from === 'file' ? (
            <>
              <label className="stack" style={{ gap: 4 }}><span>File</span><input type="file" aria-label="File of a fabric" onChange={(event) => void read(event.target.files?.[0] ?? null)} /></label>
              {fileError && <div className="problem">{fileError}</div>}
              <TextInput label="GPUs of each node" description="For a file without GPUs, such as an ibnetdiscover dump" inputMode="numeric" value={form.gpusPerNode} onChange={(event) => set('gpusPerNode', event.currentTarget.value)} />
            </>
          ) : form.from !== 'present' ? (
            <TextInput label="Parameters" description="As of railweave lab generate: hosts=64 rails=8" value={form.parameters} onChange={(event) => set('parameters', event.currentTarget.value)} />
          ) : null}
          <Textarea label="Jobs" description="TP x PP x DP, one after the other" autosize minRows={2} maxRows={8} value={form.jobs} onChange={(event) => set('jobs', event.currentTarget.value)} />
          <Textarea label="Switches that fail" description="By name or GUID" autosize minRows={1} maxRows={6} value={form.failSwitches} onChange={(event) => set('failSwitches', event.currentTarget.value)} />
          <Textarea label="Links that fail" description="By their ids" autosize minRows={1} maxRows={6} value={form.failLinks} onChange={(event) => set('failLinks', event.currentTarget.value)} />
          {plan.error && <ProblemBox error={plan.error} />}
          {form.from !== 'file' && form.from !== 'present' && <Cli line={command('lab', 'generate', form.from, ...parameters, '-O', 'fabric.json')} />}
          <div><Button type="submit" loading={plan.isPending} disabled={!request}>Plan</Button></div>
        </form>
      </Panel>
      <div className="s8 stack">
        {!last ? (
          <Panel title="Plan"><Empty title="Nothing is planned yet"><p>At most 16,384 GPUs; <code>railweave lab</code> plans with fabrics of any size. The last six plans are compared.</p></Empty></Panel>
        ) : (
          <>
            {plans.length > 0 && <Comparison plans={plans} remove={(at) => setPlans(plans.filter((_, i) => i !== at))} />}
            <Panel title={`Jobs: ${last.name}`} flush><Placements plan={last} /></Panel>
            {last.answer.routesProblem && <div className="problem warn"><b>It cannot be routed</b><div>{last.answer.routesProblem}</div></div>}
            {last.answer.after?.routes && <Panel title="What the failure changes" flush><Compared before={last.answer.after.routes.before} after={last.answer.after.routes.after} /></Panel>}
            <PlanMap key={plans.length} map={last.answer.after?.map ?? last.answer.map} title={last.answer.after ? 'After the failure' : 'Map'} onSwitch={(name) => setForm({ ...form, failSwitches: [...new Set([...form.failSwitches.split(/[\s,]+/).filter(Boolean), name])].join('\n') })} />
            <p className="dim">A click on a switch names it as one that fails. <Link to="/planning">Failures of the present fabric</Link> are worked out beside its live jobs.</p>
          </>
        )}
      </div>
    </div>
  );
}
