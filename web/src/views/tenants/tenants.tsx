// Tenants: what each holds and is promised.
import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import type { Schema } from '../../api/client';
import { contractsQuery, guaranteesQuery, jobsQuery, sharesQuery, tenantsQuery } from '../../api/queries';
import { command } from '../../model/cli';
import { count, percent, rate } from '../../model/format';
import { Badge, Bar, Cli, Copyable, Empty, Facts, Figure, Panel, Shown, Title } from '../../parts/basics';
import { EditButton } from '../../parts/edit';
import { May } from '../../parts/may';
import { DataTable } from '../../parts/table';
import { jobColumns } from '../jobs/jobs';
import { editContract, editTenant, newTenant } from './edit';
import { GuaranteePanel } from './guarantee';

function promise(contract: Schema['Contract'] | undefined): string {
  if (!contract) return 'best effort';
  return `${rate(contract.guaranteedGbps)} ${contract.basis === 'perJob' ? 'for each job' : 'at each port'}`;
}

export function Tenants() {
  const tenants = useQuery(tenantsQuery());
  const contracts = useQuery(contractsQuery());
  const guarantees = useQuery(guaranteesQuery());
  return (
    <>
      <Title actions={<><Cli line={command('tenants', 'list')} /><May call="PUT /v1/tenants/{name}"><EditButton label="New tenant" editing={newTenant} /></May></>}>Tenants</Title>
      <Panel title="Tenants" flush>
        <Shown query={tenants}>
          {({ items }) => {
            const contractOf = new Map((contracts.data?.items ?? []).map((contract) => [contract.id, contract]));
            const risk = (id: string) => (guarantees.data?.items ?? []).filter((item) => item.tenant === id && item.state === 'atRisk').length;
            return (
              <DataTable
                name="tenants"
                rows={items}
                rowKey={(tenant) => tenant.id}
                empty={<Empty title="There are no tenants"><div className="row"><Cli line={command('tenants', 'set', 'research', '--max-gpus', '512')} /></div></Empty>}
                columns={[
                  { id: 'id', name: 'Tenant', value: (tenant) => tenant.id, cell: (tenant) => <Link to="/tenants/$id" params={{ id: tenant.id }}>{tenant.id}</Link> },
                  { id: 'description', name: 'Description', value: (tenant) => tenant.description || null },
                  { id: 'held', name: 'GPUs held', value: (tenant) => tenant.gpusHeld, num: true },
                  { id: 'use', name: 'Of its limit', value: (tenant) => { const limit = tenant.quotaGpus ?? tenant.maxGpus; return limit ? tenant.gpusHeld / limit : null; }, cell: (tenant) => { const limit = tenant.quotaGpus ?? tenant.maxGpus; return limit ? <div style={{ width: 120 }}><Bar thin label={`${tenant.gpusHeld} of ${limit} GPUs`} total={limit} parts={[{ value: Math.min(tenant.gpusHeld, limit), color: 'var(--accent)' }]} /></div> : <span className="dim">no limit</span>; } },
                  { id: 'quota', name: 'Quota', value: (tenant) => tenant.quotaGpus, num: true },
                  { id: 'max', name: 'At most', value: (tenant) => tenant.maxGpus, num: true },
                  { id: 'cohort', name: 'Cohort', value: (tenant) => tenant.cohort || null },
                  { id: 'contract', name: 'Promised', value: (tenant) => promise(contractOf.get(tenant.id)) },
                  { id: 'survive', name: 'After a failure', value: (tenant) => (contractOf.get(tenant.id)?.surviveLinkFailure ? 'promised' : null) },
                  { id: 'risk', name: 'Guarantees', value: (tenant) => risk(tenant.id), cell: (tenant) => (risk(tenant.id) > 0 ? <Badge tone="bad">{risk(tenant.id)} at risk</Badge> : contractOf.has(tenant.id) ? <Badge tone="ok">hold</Badge> : <span className="dim">–</span>) },
                ]}
              />
            );
          }}
        </Shown>
      </Panel>
    </>
  );
}

export function TenantView() {
  const { id } = useParams({ strict: false }) as { id: string };
  const tenants = useQuery(tenantsQuery());
  const contracts = useQuery(contractsQuery());
  const guarantees = useQuery(guaranteesQuery());
  const shares = useQuery(sharesQuery());
  const jobs = useQuery(jobsQuery());
  return (
    <Shown query={tenants}>
      {({ items }) => {
        const tenant = items.find((item) => item.id === id);
        if (!tenant) return <Empty title={`There is no tenant ${id}`}><Link to="/tenants">All tenants</Link></Empty>;
        const contract = contracts.data?.items.find((item) => item.id === id);
        const share = shares.data?.items.find((item) => item.tenant === id);
        const own = (guarantees.data?.items ?? []).filter((item) => item.tenant === id);
        const limit = tenant.quotaGpus ?? tenant.maxGpus;
        return (
          <>
            <Title actions={<><Cli line={command('tenants', 'show', id)} /><May call="PUT /v1/tenants/{name}"><EditButton label="Change" editing={editTenant(id)} /></May></>}>{id}</Title>
            <div className="grid">
              <div className="s4 stack">
                <Panel title="GPUs">
                  <div className="stack">
                    <div className="figures">
                      <Figure value={count(tenant.gpusHeld)} label={limit ? `held of ${count(limit)}` : 'held'} />
                      <Figure value={count(share?.gpusWaiting ?? 0)} label="waited for" />
                      <Figure value={share ? percent(share.share, 1) : '–'} label="of the fabric, by weight" />
                    </div>
                    {limit ? <Bar label={`${tenant.gpusHeld} of ${limit} GPUs`} total={limit} parts={[{ value: tenant.gpusHeld, color: 'var(--accent)' }]} /> : null}
                    <Facts items={[['Description', tenant.description || '–'], ['Quota', tenant.quotaGpus ?? 'none'], ['At most', tenant.maxGpus ?? 'no limit'], ['Cohort', tenant.cohort || '–'], ['Weight', tenant.weight], ['Priority at most', tenant.maxPriority], ['When links fail', tenant.repair === 'apply' ? 'its jobs are moved' : 'a repair is proposed']]} />
                  </div>
                </Panel>
                <Panel title="Contract" actions={<May call="PUT /v1/contracts/{tenant}"><EditButton label={contract ? 'Change the contract' : 'Give it one'} editing={editContract(id, contract !== undefined)} /></May>}>
                  {contract ? (
                    <Facts
                      items={[
                        ['Guaranteed', promise(contract)],
                        ['At most', contract.maxGbps === null ? 'what is guaranteed' : rate(contract.maxGbps)],
                        ['For', contract.model === 'hose' ? 'any traffic among its ports' : 'the flows of its parallelism'],
                        ['After a link failure', contract.surviveLinkFailure ? 'promised' : 'not promised'],
                        ['Isolation', contract.isolation === 'lane' ? 'a lane for each job' : contract.isolation === 'class' ? 'inside its class, by agents on the nodes' : 'shares of classes'],
                        ['Classes', contract.classes.join(', ') || 'all'],
                        ['Reserved', `${contract.reservedPermille / 10}% of the promise`],
                        ['Partition key', <Copyable key="p" text={contract.pkey} />],
                        ['GPUs, NVLink domains', `${contract.maxGpus ?? 'no limit'}, ${contract.maxNvlinkDomains ?? 'no limit'}`],
                      ]}
                    />
                  ) : (
                    <Empty title="It has no contract"><p>Its jobs are best effort on the network.</p><div className="row"><Cli line={command('contracts', 'set', id, '--guaranteed', '100')} /></div></Empty>
                  )}
                </Panel>
              </div>
              <div className="s8 stack">
                <Panel title="Jobs" flush>
                  <Shown query={jobs}>{(list) => <DataTable name="jobs" height={320} rows={list.items.filter((job) => job.tenant === id)} columns={jobColumns.filter((column) => !['tenant', 'priority', 'level'].includes(column.id))} rowKey={(job) => job.id} empty={<Empty title="It has no jobs"><Link to="/submit" search={{ tenant: id } as never}>Submit one</Link></Empty>} />}</Shown>
                </Panel>
                {own.map((guarantee) => <GuaranteePanel key={guarantee.job} guarantee={guarantee} />)}
              </div>
            </div>
          </>
        );
      }}
    </Shown>
  );
}
