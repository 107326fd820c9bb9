// A node: its GPUs and who holds them, its adapters and where they lead.
import { useQueries, useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { alarmsQuery, jobQuery, jobsQuery, linksAtQuery, nodeQuery } from '../../api/queries';
import { command } from '../../model/cli';
import { rate } from '../../model/format';
import { tone } from '../../model/tones';
import { Badge, Cli, Copyable, Empty, Facts, Panel, Shown, SubjectLink, Title } from '../../parts/basics';
import { JobState } from '../../parts/job_state';
import { May } from '../../parts/may';
import { DataTable } from '../../parts/table';
import { AlarmList, DrainState } from './about';
import { EndLink, NodeState } from './fabric';

// Jobs whose nodes have this one among them. The list of jobs has no nodes, so each placed job is read; they are cached.
export function JobsOnNode({ id }: { id: string }) {
  const jobs = useQuery(jobsQuery());
  const placed = (jobs.data?.items ?? []).filter((job) => job.state === 'placed').slice(0, 100);
  const details = useQueries({ queries: placed.map((job) => jobQuery(job.id)) });
  const here = details.flatMap((detail) => (detail.data?.nodeList.includes(id) ? [detail.data] : []));
  return (
    <Panel title="Jobs here" flush>
      {here.length === 0 ? (
        <Empty title={jobs.isPending || details.some((detail) => detail.isPending) ? 'Asking' : 'No job runs here'} />
      ) : (
        <ul className="list">
          {here.map((job) => (
            <li key={job.id}>
              <span className="what"><SubjectLink kind="job" id={job.id} /> {job.name} <span className="dim">{job.tenant}, {job.gpus} GPUs on {job.nodes} nodes</span></span>
              <JobState job={job} />
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}

export function NodeView() {
  const { id } = useParams({ strict: false }) as { id: string };
  const query = useQuery(nodeQuery(id));
  const links = useQuery(linksAtQuery({ node: id }));
  const alarms = useQuery(alarmsQuery());
  return (
    <Shown query={query}>
      {(node) => {
        const byId = new Map((links.data?.items ?? []).map((link) => [link.id, link]));
        const ports = node.adapters.flatMap((adapter) => adapter.ports.map((port) => ({ adapter, port, link: port.link ? byId.get(port.link) : undefined })));
        const own = (alarms.data?.items ?? []).filter((alarm) => alarm.subject.id === node.id || ports.some(({ port }) => alarm.subject.id.includes(port.id)));
        return (
          <>
            <Title badge={<NodeState node={node} />} actions={<><Cli line={command('nodes', 'show', node.id)} /><May call="POST /v1/nodes/{id}/drain"><Link to="/drain" search={{ kind: 'node', id: node.id } as never}>Drain</Link></May></>}>{node.id}</Title>
            <div className="grid">
              <div className="s4 stack">
                <Panel title="Node">
                  <Facts
                    items={[
                      ['Kind', node.kind],
                      ['Rack', node.rack ?? '–'],
                      ['Site', node.site ?? '–'],
                      ['GPUs', `${node.gpus - node.freeGpus} of ${node.gpus} used`],
                      ...Object.entries(node.labels).map(([name, value]): [string, string] => [`label ${name}`, value.length > 120 ? `${value.slice(0, 120)}…` : value]),
                    ]}
                  />
                  <DrainState drain={node.drain} kind="node" id={node.id} />
                </Panel>
                <Panel title="GPUs">
                  {node.gpuList.length === 0 ? <Empty title="It has no GPUs" /> : (
                    <div className="stack">
                      {node.gpuList.map((gpu) => (
                        <div className="row" key={gpu.index}>
                          <span className="gpu" style={gpu.free ? undefined : { background: 'var(--accent)', color: 'var(--panel)' }}>{gpu.index}</span>
                          <span>{gpu.free ? <span className="dim">free</span> : 'used'}</span>
                          <span className="dim">{gpu.nvlinkDomain ?? 'no NVLink'}{gpu.nics.length > 0 && `, by ${gpu.nics[0]}`}</span>
                        </div>
                      ))}
                    </div>
                  )}
                </Panel>
              </div>
              <div className="s8 stack">
                <AlarmList alarms={own} />
                <Panel title="Adapter ports" flush>
                  <DataTable
                    name="ports"
                    rows={ports}
                    height={420}
                    rowKey={({ port }) => port.id}
                    columns={[
                      { id: 'device', name: 'Adapter', value: ({ adapter }) => adapter.device || adapter.guid },
                      { id: 'rail', name: 'Rail', value: ({ port }) => port.rail },
                      { id: 'subnet', name: 'Subnet', value: ({ port }) => port.subnet },
                      { id: 'lid', name: 'LID', value: ({ port }) => port.lid || null, num: true },
                      { id: 'rate', name: 'Rate', value: ({ port }) => port.rateGbps ?? null, cell: ({ port }) => (port.rateGbps ? rate(port.rateGbps) : '–'), num: true },
                      { id: 'peer', name: 'Leaf', value: ({ link }) => link?.ends.find((end) => end.switch)?.switch, cell: ({ link }) => { const end = link?.ends.find((e) => e.switch); return end ? <EndLink end={end} /> : <span className="dim">no cable</span>; } },
                      { id: 'state', name: 'State', value: ({ link }) => link?.state, cell: ({ link }) => (link ? <Link to="/links/$" params={{ _splat: link.id }}><Badge tone={tone(link.drained ? 'drained' : link.state)}>{link.drained ? 'drained' : link.state}</Badge></Link> : null) },
                      { id: 'guid', name: 'Port', value: ({ port }) => port.id, cell: ({ port }) => <Copyable text={port.id} /> },
                    ]}
                  />
                </Panel>
                <JobsOnNode id={id} />
              </div>
            </div>
          </>
        );
      }}
    </Shown>
  );
}
