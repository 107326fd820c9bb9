// Submit a job, or ask what if: every change of the form asks the service again, and changes nothing until "Submit".
import { Button, Checkbox, Select, TextInput } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { keepPreviousData, useMutation, useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useEffect, useMemo, useRef, useState } from 'react';
import { body, client } from '../../api/client';
import { fabricQuery, policyQuery, tenantsQuery } from '../../api/queries';
import { useParams_, type Search } from '../../parts/params';
import { commandOf, EMPTY_FORM, formErrors, gpusOf, MODELS, questionOf, requestOf, type JobForm } from '../../model/job_form';
import { count } from '../../model/format';
import { Cli, Empty, Loading, Panel, ProblemBox, Title } from '../../parts/basics';
import { May } from '../../parts/may';
import { Answer } from './answer';
import { PlacementDrawing } from './placement';

const LEVELS = [
  ['', 'Anywhere in one cluster'], ['nvlinkDomain', 'One NVLink domain'], ['node', 'One node'], ['rack', 'One rack'], ['leafGroup', 'One leaf group'], ['pod', 'One pod'],
].map(([value, label]) => ({ value: value!, label: label! }));

function useLater<T>(value: T, ms: number): T {
  const [later, setLater] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setLater(value), ms);
    return () => clearTimeout(timer);
  }, [value, ms]);
  return later;
}

function formOf(search: Search): JobForm {
  const from = Object.fromEntries(Object.entries(search).filter(([name, value]) => name in EMPTY_FORM && value !== undefined));
  return { ...EMPTY_FORM, ...from, survive: search.survive === 'true', queue: search.queue === 'true', launcher: search.launcher === 'true' } as JobForm;
}

export function Submit() {
  const search = useParams_();
  const navigate = useNavigate();
  const [form, setForm] = useState<JobForm>(() => formOf(search));
  // The form is ahead of the URL while one types; a URL that the form did not write (a link, the back button) leads it.
  const written = useRef(JSON.stringify(formOf(search)));
  useEffect(() => {
    const from = formOf(search);
    if (JSON.stringify(from) === written.current) return;
    written.current = JSON.stringify(from);
    setForm(from);
  }, [search]);
  const set = <Name extends keyof JobForm>(name: Name, value: JobForm[Name]) => {
    const next = { ...form, [name]: value };
    setForm(next);
    written.current = JSON.stringify(next);
    const changed = Object.fromEntries(Object.entries(next).filter(([key, v]) => v !== EMPTY_FORM[key as keyof JobForm]));
    void navigate({ to: '.', search: { ...changed, color: search.color, group: search.group } as never, replace: true });
  };
  const tenants = useQuery(tenantsQuery());
  const policy = useQuery(policyQuery());
  const fabric = useQuery(fabricQuery());
  const errors = formErrors(form);
  const ok = Object.keys(errors).length === 0;
  const asked = useLater(useMemo(() => JSON.stringify(questionOf(form)), [form]), 300);
  const answer = useQuery({
    queryKey: ['jobs', 'what-if', asked, fabric.data?.freeGpus],
    queryFn: () => body(client.POST('/v1/placements/query', { params: { query: { ranks: true } }, body: JSON.parse(asked) as never })),
    enabled: ok && (fabric.data?.gpus ?? 0) > 0,
    placeholderData: keepPreviousData,
    retry: false,
  });
  const [key, setKey] = useState(() => crypto.randomUUID());
  const submit = useMutation({
    mutationFn: () => body(client.POST('/v1/jobs', { params: { header: { 'Idempotency-Key': key } }, body: requestOf(form) as never })),
    onSuccess: (job) => {
      setKey(crypto.randomUUID());
      const id = (job as { job?: string }).job;
      notifications.show({ message: id ? `${id} is submitted` : 'Submitted', color: 'green' });
      if (id) void navigate({ to: '/jobs/$id', params: { id } });
    },
  });
  const gpus = gpusOf(form);
  const factor = (name: 'tensor' | 'pipeline' | 'data' | 'context' | 'expert', label: string) => (
    <TextInput label={label} inputMode="numeric" value={form[name]} error={errors[name]} onChange={(event) => set(name, event.currentTarget.value)} />
  );
  return (
    <>
      <Title actions={<Cli line={commandOf(form, 'place')} />}>Submit a job, or ask what if</Title>
      <div className="grid">
        <Panel title={gpus === undefined ? 'The job' : `The job: ${count(gpus)} GPUs`} className="s5">
          <form
            className="form"
            onSubmit={(event) => {
              event.preventDefault();
              if (ok) submit.mutate();
            }}
          >
            <div className="two">
              <TextInput label="Name" value={form.name} onChange={(event) => set('name', event.currentTarget.value)} />
              <Select label="Tenant" data={(tenants.data?.items ?? []).map((tenant) => tenant.id)} value={form.tenant || null} onChange={(value) => set('tenant', value ?? '')} searchable clearable placeholder="Owner" />
            </div>
            <div className="five">
              {factor('tensor', 'TP')}
              {factor('pipeline', 'PP')}
              {factor('data', 'DP')}
              {factor('context', 'CP')}
              {factor('expert', 'EP')}
            </div>
            <div className="two">
              <Select label="Must be within" data={LEVELS} value={form.within} onChange={(value) => set('within', value ?? '')} allowDeselect={false} />
              <Select label="Stages prefer" data={[{ value: '', label: 'No preference' }, ...LEVELS.slice(1)]} value={form.stage} onChange={(value) => set('stage', value ?? '')} allowDeselect={false} />
            </div>
            <div className="two">
              <Select label="Model" description="For predicted step times" data={[{ value: '', label: 'Not said' }, ...Object.entries(MODELS).map(([value, { name }]) => ({ value, label: name }))]} value={form.model} onChange={(value) => set('model', value ?? '')} allowDeselect={false} />
              <Select label="Priority" description="Class of the queue" data={[...new Set([...(policy.data?.priorityClasses ?? []).map((item) => item.name), form.priority || 'normal'])]} value={form.priority} onChange={(value) => set('priority', value ?? 'normal')} allowDeselect={false} />
            </div>
            <div className="two">
              <TextInput label="Gb/s at each port" placeholder="As its contract says" value={form.guaranteed} error={errors.guaranteed} onChange={(event) => set('guaranteed', event.currentTarget.value)} />
              <TextInput label="Expected hours" value={form.duration} error={errors.duration} onChange={(event) => set('duration', event.currentTarget.value)} />
            </div>
            <TextInput label="Nodes to leave out" placeholder="dgx-044, dgx-045" value={form.exclude} onChange={(event) => set('exclude', event.currentTarget.value)} />
            <div className="two">
              <TextInput label="Taints to tolerate" placeholder="dedicated=inference" value={form.tolerate} error={errors.tolerate} onChange={(event) => set('tolerate', event.currentTarget.value)} />
              <TextInput label="Members without GPUs" placeholder="driver=1, loader=8:2" title="Drivers, data loaders, routers: how many, and after a colon how many at most on a node" value={form.cpu} error={errors.cpu} onChange={(event) => set('cpu', event.currentTarget.value)} />
            </div>
            <Checkbox label="Also after any single link failure" checked={form.survive} disabled={form.guaranteed === ''} onChange={(event) => set('survive', event.currentTarget.checked)} />
            <Checkbox label="Wait in the queue, if it cannot start now" checked={form.queue} onChange={(event) => set('queue', event.currentTarget.checked)} />
            <Checkbox label="Its launcher says when it runs and when it is gone" checked={form.launcher} onChange={(event) => set('launcher', event.currentTarget.checked)} />
            <May call="PUT /v1/reservations/{name}">
              <div className="two">
                <TextInput label="Runs already on" placeholder="dgx-001, dgx-002" title="Nodes in the order of its ranks: it is taken over as it is" value={form.on} onChange={(event) => set('on', event.currentTarget.value)} />
                <TextInput label="GPUs of each" placeholder="All" value={form.onGpus} error={errors.onGpus} disabled={form.on === ''} onChange={(event) => set('onGpus', event.currentTarget.value)} />
              </div>
            </May>
            {submit.error && <ProblemBox error={submit.error} />}
            <div className="send">
              <Cli line={commandOf(form, 'submit')} />
              <May call="POST /v1/jobs"><Button type="submit" loading={submit.isPending} disabled={!ok || form.tenant === ''} title={form.tenant === '' ? 'Choose a tenant first' : undefined}>{form.on ? 'Adopt' : 'Submit'}</Button></May>
            </div>
          </form>
        </Panel>
        <div className="s7 stack" aria-live="polite">
          {(fabric.data?.gpus ?? 0) === 0 ? (
            <Panel title="What if"><Empty title="There are no GPUs to place on"><p>Import a fabric first.</p></Empty></Panel>
          ) : answer.error ? (
            <ProblemBox error={answer.error} retry={() => void answer.refetch()} />
          ) : answer.data ? (
            <>
              <Answer answer={answer.data} />
              {answer.data.ranks?.items && <PlacementDrawing ranks={answer.data.ranks.items} title="It would run here" />}
            </>
          ) : (
            <Panel title="What if"><Loading /></Panel>
          )}
        </div>
      </div>
    </>
  );
}
