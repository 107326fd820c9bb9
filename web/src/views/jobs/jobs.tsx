// All jobs that hold GPUs, wait, or ended recently.
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { Schema } from '../../api/client';
import { jobsQuery } from '../../api/queries';
import { useParam } from '../../parts/params';
import { command } from '../../model/cli';
import { words } from '../../model/format';
import { Cli, Empty, Panel, Shown, Title, When } from '../../parts/basics';
import { JobState } from '../../parts/job_state';
import { May } from '../../parts/may';
import { DataTable, type Column } from '../../parts/table';

export const jobColumns: Column<Schema['JobLine']>[] = [
  { id: 'id', name: 'Job', value: (job) => job.id, cell: (job) => <Link to="/jobs/$id" params={{ id: job.id }}>{job.id}</Link> },
  { id: 'name', name: 'Name', value: (job) => job.name || null },
  { id: 'tenant', name: 'Tenant', value: (job) => job.tenant, cell: (job) => (job.tenant ? <Link to="/tenants/$id" params={{ id: job.tenant }}>{job.tenant}</Link> : '–') },
  { id: 'state', name: 'State', value: (job) => (job.damaged ? 'damaged' : job.state), cell: (job) => <JobState job={job} /> },
  { id: 'priority', name: 'Priority', value: (job) => job.priority },
  { id: 'gpus', name: 'GPUs', value: (job) => job.gpus, num: true },
  { id: 'nodes', name: 'Nodes', value: (job) => job.nodes || null, num: true },
  { id: 'level', name: 'Within one', value: (job) => (job.level ? words(job.level) : null) },
  { id: 'submitted', name: 'Submitted', value: (job) => job.submittedAt, cell: (job) => <When at={job.submittedAt} relative /> },
  { id: 'from', name: 'Comes from', value: (job) => (job.external ? `${job.external.scheduler} ${job.external.id}` : null) },
  { id: 'started', name: 'Started', value: (job) => job.startedAt, cell: (job) => <When at={job.startedAt} relative /> },
];

export function Jobs() {
  const query = useQuery(jobsQuery());
  const [state, setState] = useParam('state');
  const [tenant, setTenant] = useParam('tenant');
  return (
    <>
      <Title actions={<><Cli line={command('jobs', 'list', tenant && '--tenant', tenant)} /><May call="POST /v1/jobs"><Link to="/submit">Submit a job</Link></May></>}>Jobs</Title>
      <Panel title="Jobs" flush>
        <Shown query={query} lines={8}>
          {(list) => {
            const rows = list.items.filter((job) => (!state || (state === 'damaged' ? job.damaged : job.state === state)) && (!tenant || job.tenant === tenant));
            const states = [...new Set(list.items.flatMap((job) => (job.damaged ? [job.state, 'damaged'] : [job.state])))].sort();
            const tenants = [...new Set(list.items.map((job) => job.tenant))].filter(Boolean).sort();
            return (
              <DataTable
                name="jobs"
                rows={rows}
                columns={jobColumns}
                rowKey={(job) => job.id}
                beginning={list.complete ? undefined : { of: 'jobs' }}
                empty={<Empty title={state || tenant ? 'No such job' : 'No job has been submitted'}><May call="POST /v1/jobs"><div className="row"><Link to="/submit">Submit one</Link></div></May></Empty>}
                filters={
                  <>
                    <select className="select" aria-label="State" value={state} onChange={(event) => setState(event.target.value)}>
                      <option value="">Any state</option>
                      {states.map((name) => <option key={name} value={name}>{words(name)}</option>)}
                    </select>
                    <select className="select" aria-label="Tenant" value={tenant} onChange={(event) => setTenant(event.target.value)}>
                      <option value="">All tenants</option>
                      {tenants.map((name) => <option key={name}>{name}</option>)}
                    </select>
                  </>
                }
              />
            );
          }}
        </Shown>
      </Panel>
    </>
  );
}
