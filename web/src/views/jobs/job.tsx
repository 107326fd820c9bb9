// One job: why it waits or where it runs, its ranks, what it costs and is promised, its history.
import { Button, Modal, TextInput } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { body, client, textOf, type Schema } from '../../api/client';
import { guaranteesQuery, jobQuery, policyQuery, RANK_LIMIT, ranksQuery } from '../../api/queries';
import { useParam } from '../../parts/params';
import { command } from '../../model/cli';
import { count, duration, milliseconds, parseDuration, rate, words } from '../../model/format';
import { inWords } from '../../model/health';
import { tone } from '../../model/tones';
import { Badge, Cli, Copyable, Empty, Facts, Panel, ProblemBox, Shown, SubjectLink, Title, When } from '../../parts/basics';
import { EditButton } from '../../parts/edit';
import { JobState } from '../../parts/job_state';
import { May } from '../../parts/may';
import { Said } from '../../parts/said';
import { DataTable, saveFile } from '../../parts/table';
import { Tabs } from '../../parts/tabs';
import { GuaranteePanel } from '../tenants/guarantee';
import { cpuRoleFacts, Groups, Times, Wait } from './answer';
import { editJob } from './edit';
import { PlacementDrawing } from './placement';
import { RepairJob } from './repair';
import { StepTimes } from './steps';
import { JobPairs } from './traffic';
import { useChange } from './waiting';

function EndJob({ job, close }: { job: Schema['Job']; close: () => void }) {
  const [reason, setReason] = useState('');
  const cancel = useMutation({
    mutationFn: () => body(client.DELETE('/v1/jobs/{id}', { params: { path: { id: job.id }, query: reason ? { reason } : {} } })),
    onSuccess: () => {
      notifications.show({ message: `${job.id} is cancelled`, color: 'green' });
      close();
    },
  });
  return (
    <Modal opened onClose={close} title={`Cancel ${job.id}?`} lockScroll={false} closeButtonProps={{ 'aria-label': 'Close' }}>
      <div className="stack">
        <p>{job.state === 'placed' ? `Its ${count(job.gpus)} GPUs become free at once. The processes on its nodes are not ended from here.` : 'It leaves the queue.'}</p>
        <TextInput label="Reason" description="For its history" value={reason} maxLength={500} onChange={(event) => setReason(event.currentTarget.value)} data-autofocus />
        {cancel.error && <ProblemBox error={cancel.error} />}
        <Cli line={command('jobs', 'cancel', job.id, reason && '--reason', reason)} />
        <div className="row" style={{ justifyContent: 'flex-end' }}>
          <Button variant="default" onClick={close}>Keep it</Button>
          <Button color="red" loading={cancel.isPending} onClick={() => cancel.mutate()}>Cancel the job</Button>
        </div>
      </div>
    </Modal>
  );
}

/** Libraries that cannot be told the job's class or partition: their packets are not the job's for the network. */
function outsideText(outside: Schema['OutsideLibraries']) {
  const parts = [
    ['class', outside.class] as const,
    ['partition', outside.partition] as const,
  ].filter(([, names]) => names.length > 0);
  return parts.map(([of, names]) => `; outside its ${of}: ${names.join(', ')}`).join('');
}

function Ranks({ job }: { job: Schema['Job'] }) {
  const query = useQuery(ranksQuery(job.id));
  const formats = ['hostfile', 'slurm', 'torchrun', 'mpi', 'nccl'];
  const save = useMutation({
    mutationFn: async (format: string) => saveFile(`${job.id}.${format}`, await textOf(`/v1/jobs/${encodeURIComponent(job.id)}/ranks?format=${format}`), 'text/plain'),
    onError: (error) => notifications.show({ message: error.message, color: 'red' }),
  });
  return (
    <Panel title="Ranks" flush actions={<><span className="dim">As</span>{formats.map((format) => <button type="button" className="link-button" key={format} onClick={() => save.mutate(format)}>{format}</button>)}<Cli line={command('jobs', 'ranks', job.id)} /></>}>
      <Shown query={query}>
        {(page) => (
          <DataTable
            name="ranks"
            rows={page.items}
            note={[page.nextCursor && ` (the first ${count(RANK_LIMIT)})`, outsideText(page.outside)].filter(Boolean).join('') || undefined}
            rowKey={(rank) => String(rank.rank)}
            empty={<Empty title="It holds no GPUs" />}
            columns={[
              { id: 'rank', name: 'Rank', value: (rank) => rank.rank, num: true },
              { id: 'node', name: 'Node', value: (rank) => rank.node, cell: (rank) => <Link to="/nodes/$id" params={{ id: rank.node }}>{rank.node}</Link> },
              { id: 'gpu', name: 'GPU', value: (rank) => rank.gpu, num: true },
              { id: 'nic', name: 'Adapters', value: (rank) => rank.nics.map((nic) => nic.device).join(' ') },
              { id: 'rail', name: 'Rail', value: (rank) => rank.nics[0]?.rail, num: true },
              { id: 'tp', name: 'TP', value: (rank) => rank.tp, num: true },
              { id: 'pp', name: 'PP', value: (rank) => rank.pp, num: true },
              { id: 'dp', name: 'DP', value: (rank) => rank.dp, num: true },
              { id: 'cp', name: 'CP', value: (rank) => rank.cp, num: true },
              { id: 'ep', name: 'EP', value: (rank) => rank.ep, num: true },
            ]}
          />
        )}
      </Shown>
    </Panel>
  );
}

// A job with a launcher: how far it is, until when it has to be further, and what the launcher would say.
function Launch({ job }: { job: Schema['Job'] }) {
  const queries = useQueryClient();
  const said = useMutation({
    mutationFn: (what: 'accept' | 'running' | 'freed') =>
      body(what === 'accept' ? client.POST('/v1/jobs/{id}/accept', { params: { path: { id: job.id } } }) : what === 'running' ? client.POST('/v1/jobs/{id}/running', { params: { path: { id: job.id } } }) : client.POST('/v1/jobs/{id}/freed', { params: { path: { id: job.id } } })),
    onSettled: () => void queries.invalidateQueries({ queryKey: ['jobs'] }),
  });
  const { launcher, phase } = job;
  if (!launcher) return null;
  const says: Record<string, ['accept' | 'running' | 'freed', string]> = { offered: ['accept', 'Accept'], accepted: ['running', 'It runs'], releasing: ['freed', 'Its nodes are free'] };
  const next = phase ? says[phase] : undefined;
  const span = (text: string) => { const ms = parseDuration(text); return ms === undefined ? text : duration(ms); };
  return (
    <Panel title="Launcher" actions={phase ? <Badge tone={tone(phase)}>{words(phase)}</Badge> : undefined}>
      <div className="stack" data-testid="launch">
        <Facts
          items={[
            ['Deadline', launcher.deadline ? <><When key="d" at={launcher.deadline} relative /> <span className="dim">({phase === 'offered' ? 'then it is offered again later' : phase === 'accepted' ? 'then it waits again' : 'then an alarm is raised'})</span></> : '–'],
            ['Accepts within', span(launcher.acceptWithin)],
            ['Runs within', span(launcher.runWithin)],
            ['Notice, release', `${span(launcher.notice)}, ${span(launcher.releaseWithin)}`],
            ...(launcher.expiredOffers > 0 ? ([['Offers that expired', count(launcher.expiredOffers)]] as [string, string][]) : []),
          ]}
        />
        {launcher.release && (
          <div className={`problem ${launcher.release.overdue ? '' : 'warn'}`}>
            <b>{launcher.release.overdue ? 'Not freed in time' : 'Being freed'}, then {words(launcher.release.becomes)}</b>
            <div>{launcher.release.reason}</div>
            {launcher.release.inFavourOf && <div>For <SubjectLink kind="job" id={launcher.release.inFavourOf} /></div>}
            <div className="dim">{launcher.release.freedNodes.length} of {job.nodes} nodes are free</div>
          </div>
        )}
        {said.error && <ProblemBox error={said.error} />}
        {next && <May call={`POST /v1/jobs/{id}/${next[0]}`}><div className="row"><Button size="xs" variant="default" loading={said.isPending} onClick={() => said.mutate(next[0])}>{next[1]}</Button><span className="dim">in place of the launcher</span><Cli line={command('jobs', next[0], job.id)} /></div></May>}
      </div>
    </Panel>
  );
}

function Expected({ start }: { start: Schema['ExpectedStart'] }) {
  return (
    <Panel title="Expected start">
      <div className="stack" data-testid="expected">
        {start.at ? <p><b><When at={start.at} /></b> <span className="dim">(<When at={start.at} relative />)</span></p> : <p>Not known: {start.unknown}</p>}
        {start.ends.length > 0 && (
          <ul className="list" style={{ margin: '0 -12px' }}>
            {start.ends.map((end) => (
              <li key={end.job}><span className="what"><SubjectLink kind="job" id={end.job} /> has to end</span><span className="dim">{end.assumed && 'assumed '}<When at={end.at} relative /></span></li>
            ))}
          </ul>
        )}
        <p className="dim">{start.otherEnds > 0 && `${count(start.otherEnds)} others have to end before. `}{start.assumedEnds > 0 ? `${count(start.assumedEnds)} of these ends are assumed: the jobs do not say how long they run.` : 'If all jobs end when they are expected to, and no other comes.'}</p>
      </div>
    </Panel>
  );
}

function AdoptedFacts({ adopted }: { adopted: Schema['Adopted'] }) {
  return (
    <Panel title="Adopted where it ran">
      <div className="stack" data-testid="adopted">
        {adopted.findings.length === 0 ? <p>A placement might have chosen the same.</p> : <ul>{adopted.findings.map((finding) => <li key={finding}>{finding}</li>)}</ul>}
        {adopted.order && <Facts items={[[`${words(adopted.order.of)} in its order`, milliseconds(adopted.order.predictedMs)], ['In the best order', milliseconds(adopted.order.bestMs)]]} />}
        {adopted.order?.ranks && <Copyable text={JSON.stringify(adopted.order.ranks)}><span className="dim">Copy the best order of ranks</span></Copyable>}
      </div>
    </Panel>
  );
}

function Drawn({ job }: { job: Schema['Job'] }) {
  const query = useQuery(ranksQuery(job.id));
  return <Shown query={query}>{(page) => (page.items.length > 0 ? <PlacementDrawing ranks={page.items} /> : null)}</Shown>;
}

function Guaranteed({ job }: { job: Schema['Job'] }) {
  const query = useQuery(guaranteesQuery());
  const own = query.data?.items.find((item) => item.job === job.id);
  return own ? <GuaranteePanel guarantee={own} /> : null;
}

export function JobView() {
  const { id } = useParams({ strict: false }) as { id: string };
  const [tab] = useParam('tab', 'placement');
  const [ending, setEnding] = useState(false);
  const [repair, setRepair] = useParam('repair');
  const query = useQuery(jobQuery(id));
  const policy = useQuery(policyQuery());
  const change = useChange(id);
  const classes = (policy.data?.priorityClasses ?? []).map((item) => item.name);
  return (
    <Shown query={query}>
      {(job) => {
        const { parallelism } = job.spec;
        const expected = job.spec.expectedDuration ? parseDuration(job.spec.expectedDuration) : undefined;
        const active = job.state === 'placed' || job.state === 'queued';
        return (
          <>
            <Title badge={<><JobState job={job} />{job.hold && <Badge tone="warn">held</Badge>}</>} actions={<><Cli line={command('jobs', 'show', job.id)} />{job.state === 'placed' && <May call="GET /v1/fabric/map"><Link to="/fabric" search={{ job: job.id } as never}>On the map</Link></May>}{active && <May call="PATCH /v1/jobs/{id}">{job.state === 'queued' && <Button size="xs" variant="default" loading={change.isPending} onClick={() => change.mutate({ hold: job.hold === null })}>{job.hold ? 'Release' : 'Hold'}</Button>}<EditButton label="Change" editing={editJob(job, classes)} /></May>}{active && <May call="DELETE /v1/jobs/{id}"><Button size="xs" variant="default" onClick={() => setEnding(true)}>Cancel</Button></May>}</>}>
              {job.name || job.id}
            </Title>
            {ending && <EndJob job={job} close={() => setEnding(false)} />}
            {job.hold && <div className="problem warn" style={{ marginBottom: 12 }} data-testid="hold"><b>Held by {job.hold.by}{job.hold.byOperator && ', an operator'}</b><div>{job.hold.reason}</div><div className="dim">Since <When at={job.hold.since} /></div></div>}
            {job.waits && <div style={{ marginBottom: 12 }}><Wait waits={job.waits} /></div>}
            {job.damage && <div className="problem" style={{ marginBottom: 12 }}><b>Damaged</b><div>{inWords(job.damage)}</div><div className="row"><May call="POST /v1/jobs/{id}/repair"><Button size="xs" onClick={() => setRepair('plan')}>Repair</Button></May><Cli line={command('jobs', 'repair', job.id, '--dry-run')} /></div></div>}
            {job.launcher && job.launcher.left.length > 0 && <div className={job.launcher.leftOverdue ? 'problem' : 'problem warn'} style={{ marginBottom: 12 }} data-testid="left"><b>Its ranks were moved, and its launcher has not freed what they left{job.launcher.leftOverdue && ' in time'}</b><div className="row"><span>{job.launcher.left.join(', ')}</span><Cli line={command('jobs', 'freed', job.id)} /></div></div>}
            {repair === 'plan' && <RepairJob id={job.id} close={() => setRepair('')} />}
            <Tabs name="tab" tabs={[['placement', 'Placement'], ['ranks', 'Ranks'], ['traffic', 'Who talks to whom'], ['spec', 'Specification'], ['history', 'History']]} />
            {tab === 'ranks' ? (
              <Ranks job={job} />
            ) : tab === 'traffic' ? (
              <JobPairs id={job.id} />
            ) : tab === 'spec' ? (
              <Panel title="Specification" actions={<Copyable text={JSON.stringify(job.spec)}><span className="dim">Copy as JSON</span></Copyable>}><pre className="mono" style={{ margin: 0, whiteSpace: 'pre-wrap' }}>{JSON.stringify(job.spec, null, 2)}</pre></Panel>
            ) : tab === 'history' ? (
              <Panel title="History" flush>
                <ul className="list">
                  {[...job.history].reverse().map((line) => (
                    <li key={line.seq}><span className="when"><When at={line.time} /></span><Badge tone={tone(line.state)}>{words(line.state)}</Badge><span className="what"><Said message={line.message} text={line.reason} /></span><span className="dim">{line.actor}</span></li>
                  ))}
                </ul>
              </Panel>
            ) : (
              <div className="grid">
                <div className="s4 stack">
                  <Panel title="Job">
                    <Facts
                      items={[
                        ['Id', <Copyable key="id" text={job.id} />],
                        ['Tenant', job.tenant ? <Link key="t" to="/tenants/$id" params={{ id: job.tenant }}>{job.tenant}</Link> : '–'],
                        ['GPUs', `${count(job.gpus)}: TP ${parallelism.tensor} x PP ${parallelism.pipeline} x DP ${parallelism.data}${parallelism.context! > 1 ? ` x CP ${parallelism.context}` : ''}${parallelism.expert! > 1 ? ` x EP ${parallelism.expert}` : ''}`],
                        ['Nodes', job.nodes > 0 ? count(job.nodes) : '–'],
                        ...(job.spec.external ? ([['Comes from', `${job.spec.external.scheduler} ${job.spec.external.id}${job.spec.external.part ? `, ${job.spec.external.part}` : ''}${job.spec.external.step ? `, step ${job.spec.external.step}` : ''}`]] as [string, string][]) : []),
                        ...(job.spec.external?.advice ? ([['Advice', job.spec.external.advice]] as [string, string][]) : []),
                        ...(job.spec.peers ?? []).map((peer, at): [string, React.ReactNode] => [
                          `${peer.sends ? 'Sends to' : 'Receives from'} ${peer.role}`,
                          <span key={`peer-${at}`}>{Number((peer.bytesPerStep / 1e9).toPrecision(4))} GB per step, <Link to="/jobs/$id" params={{ id: peer.job }}>{peer.job}</Link></span>,
                        ]),
                        ['Priority', job.priority],
                        ['Submitted', <When key="s" at={job.submittedAt} />],
                        ...(job.notBefore ? ([['Not before', <When key="nb" at={job.notBefore} />]] as [string, React.ReactNode][]) : []),
                        ['Started', <When key="st" at={job.startedAt} />],
                        ...(job.endedAt ? ([['Ended', <When key="e" at={job.endedAt} />]] as [string, React.ReactNode][]) : []),
                        ['Expected to run', expected ? duration(expected) : 'not said'],
                        ['Checkpoint', <When key="c" at={job.checkpointedAt} relative />],
                        ...(job.placement ? ([['Within one', words(job.placement.level)], ['NVLink domains', count(job.placement.domainsUsed)], ['Data rings', job.placement.dataRingsOnRails ? 'on rails' : 'not all on rails']] as [string, string][]) : []),
                        ...(job.placement ? cpuRoleFacts(job.placement) : (job.spec.cpuRoles ?? []).map((role): [string, string] => [`${role.name}, without GPUs`, count(role.members ?? 1)])),
                        ...(job.placement?.unmetPreferences ?? []).map((unmet, at): [string, React.ReactNode] => ['Not as preferred', <span key={`unmet-${at}`} className="warn">{unmet}</span>]),
                        ['Guaranteed', job.guarantee ? `${rate(job.guarantee.guaranteedGbpsPerPort)} at each port` : 'best effort'],
                      ]}
                    />
                  </Panel>
                  <Launch job={job} />
                  {job.expectedStart && <Expected start={job.expectedStart} />}
                  {job.adopted && <AdoptedFacts adopted={job.adopted} />}
                  <StepTimes id={job.id} />
                  {job.predicted && <Panel title="A step takes"><Times predicted={job.predicted} contention={job.withContention} /></Panel>}
                </div>
                <div className="s8 stack">
                  {job.ranks.count > 0 && <Drawn job={job} />}
                  {job.state === 'queued' && <Panel title="Placement"><Empty title="It holds no GPUs yet"><p><Link to="/queue">Its place in the queue</Link></p></Empty></Panel>}
                  {job.groups && Object.keys(job.groups).length > 0 && <Panel title="Groups" flush><Groups groups={job.groups} /></Panel>}
                  <Guaranteed job={job} />
                </div>
              </div>
            )}
          </>
        );
      }}
    </Shown>
  );
}
