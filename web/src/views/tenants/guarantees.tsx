// What is promised on the network: which guarantees hold, which links they fill, and the certificate.
import { Button } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { body, client, textOf } from '../../api/client';
import { classesQuery, guaranteedLinksQuery, guaranteesQuery } from '../../api/queries';
import { checkCertificate } from '../../model/certificate';
import { command } from '../../model/cli';
import { count, percent, rate, words } from '../../model/format';
import { tone } from '../../model/tones';
import { Badge, Bar, Cli, Copyable, Empty, Panel, ProblemBox, Shown, SubjectLink, Title } from '../../parts/basics';
import { DataTable, saveFile } from '../../parts/table';
import { arrow, undirected } from '../fabric/map';

function Certificate() {
  const get = useMutation({ mutationFn: () => body(client.GET('/v1/guarantees/certificate')) });
  const routes = useMutation({
    mutationFn: () => textOf('/v1/routes/fdbs'),
    onSuccess: (text) => saveFile('opensm.fdbs', text, 'text/plain'),
  });
  const checked = get.data ? checkCertificate(get.data) : undefined;
  return (
    <Panel title="Certificate">
      <div className="stack">
        <p className="dim">What is reserved on every link, and by which routes. Checked here: no link holds more than its usable capacity. <code>railweave-verify</code>, which shares no code with the service, walks the routes as well.</p>
        <div className="row">
          <Button size="xs" loading={get.isPending} onClick={() => get.mutate()}>Verify</Button>
          <Button size="xs" variant="default" disabled={!get.data} onClick={() => saveFile('certificate.json', JSON.stringify(get.data, null, 1))}>Download the certificate</Button>
          <Button size="xs" variant="default" loading={routes.isPending} onClick={() => routes.mutate()}>Download the routes</Button>
          <Cli line="railweave-verify certificate.json opensm.fdbs" />
          <Cli line={command('guarantees', 'verify')} />
        </div>
        {get.error && <ProblemBox error={get.error} />}
        {routes.error && <ProblemBox error={routes.error} />}
        {checked && (
          <div className={`problem ${checked.problems.length === 0 ? 'good' : ''}`} role="status" data-testid="certificate">
            <b>{checked.problems.length === 0 ? 'Adds up' : 'Does not add up'}</b>
            <div>{count(checked.jobs)} jobs, {count(checked.links)} directed links with reservations; routes <code>{get.data?.routes.fnv1a64}</code></div>
            {checked.problems.slice(0, 20).map((problem) => <div key={problem} className="mono">{problem}</div>)}
          </div>
        )}
      </div>
    </Panel>
  );
}

export function Guarantees() {
  const query = useQuery(guaranteesQuery());
  const links = useQuery(guaranteedLinksQuery(200));
  const classes = useQuery(classesQuery());
  return (
    <>
      <Title actions={<Cli line={command('guarantees', 'list')} />}>Guarantees</Title>
      <div className="stack">
        <Panel title="Jobs" flush>
          <Shown query={query}>
            {({ items }) => (
              <DataTable
                name="guarantees"
                rows={items}
                height={360}
                rowKey={(item) => item.job}
                empty={<Empty title="No job has a guarantee"><p>A contract gives its tenant's jobs one.</p><div className="row"><Cli line={command('contracts', 'set', 'research', '--guaranteed', '100', '--class', 'all-reduce')} /></div></Empty>}
                columns={[
                  { id: 'job', name: 'Job', value: (item) => item.job, cell: (item) => <SubjectLink kind="job" id={item.job} /> },
                  { id: 'name', name: 'Name', value: (item) => item.name || null },
                  { id: 'tenant', name: 'Tenant', value: (item) => item.tenant, cell: (item) => <SubjectLink kind="tenant" id={item.tenant} /> },
                  { id: 'state', name: 'State', value: (item) => item.state, cell: (item) => <Badge tone={tone(item.state)}>{words(item.state)}</Badge> },
                  { id: 'class', name: 'Class', value: (item) => item.class },
                  { id: 'rate', name: 'At each port', value: (item) => item.guaranteedGbpsPerPort, cell: (item) => rate(item.guaranteedGbpsPerPort), num: true },
                  { id: 'ports', name: 'Ports', value: (item) => item.ports, num: true },
                  { id: 'links', name: 'Links', value: (item) => item.linksReserved, num: true },
                  { id: 'covered', name: 'After a failure', value: (item) => (item.surviveLinkFailure ? (item.covered ? 'covered' : 'used up') : 'not promised') },
                  { id: 'force', name: 'In force', value: (item) => item.inForce.level, cell: (item) => <Badge tone={tone(item.inForce.level)}>{words(item.inForce.level)}</Badge> },
                  { id: 'reason', name: 'Reason', value: (item) => item.reason || null, wrap: true },
                ]}
              />
            )}
          </Shown>
        </Panel>
        <Panel title="Who holds what is full" flush actions={<Cli line={command('guarantees', 'links', '--top', 20)} />}>
          <Shown query={links}>
            {(data) => (
              <DataTable
                name="fullest"
                rows={data.items.flatMap((link) => link.classes.map((reserved) => ({ link, reserved })))}
                height={360}
                rowKey={({ link, reserved }) => link.link + reserved.class}
                empty={<Empty title="Nothing is reserved on any link" />}
                columns={[
                  { id: 'link', name: 'Link', value: ({ link }) => `${link.name} ${link.link}`, cell: ({ link }) => <Copyable text={link.link}><Link title={link.link} to="/links/$" params={{ _splat: undirected(link.link) }}>{arrow(link.name)}</Link></Copyable> },
                  { id: 'class', name: 'Class', value: ({ reserved }) => reserved.class },
                  { id: 'full', name: 'Reserved', value: ({ reserved }) => reserved.reservedGbps / Math.max(reserved.limitGbps, 1e-9), cell: ({ reserved }) => <div className="row nowrap" style={{ flexWrap: 'nowrap' }}><div style={{ width: 90 }}><Bar thin label={`${reserved.reservedGbps} of ${reserved.limitGbps} Gb/s`} total={reserved.limitGbps} parts={[{ value: reserved.reservedGbps, color: reserved.reservedGbps > 0.95 * reserved.limitGbps ? 'var(--bad)' : 'var(--accent)' }]} /></div>{percent(reserved.reservedGbps / Math.max(reserved.limitGbps, 1e-9))}</div> },
                  { id: 'rate', name: 'Of the class', value: ({ reserved }) => reserved.limitGbps, cell: ({ reserved }) => `${rate(reserved.reservedGbps)} of ${rate(reserved.limitGbps)}`, num: true },
                  { id: 'holders', name: 'Held by', value: ({ reserved }) => reserved.holders.map((holder) => holder.job).join(' '), cell: ({ reserved }) => <>{reserved.holders.slice(0, 3).map((holder, i) => <span key={holder.job}>{i > 0 && ', '}<SubjectLink kind="job" id={holder.job} /> {rate(holder.gbps)}</span>)}{reserved.jobs > 3 && ` and ${reserved.jobs - 3} more`}</> },
                ]}
              />
            )}
          </Shown>
        </Panel>
        <div className="grid">
          <div className="s6"><Certificate /></div>
          <Panel title="Classes of traffic" className="s6" flush actions={<Cli line={command('qos', 'classes')} />}>
            <Shown query={classes}>
              {({ items }) => (
                <table className="data">
                  <thead><tr><th>Class</th><th className="num">Of each link</th><th>Bound by</th><th className="num">DSCP</th><th>Lossless</th></tr></thead>
                  <tbody>{items.map((item) => <tr key={item.name}><td>{item.name}</td><td className="num">{percent(item.sharePermille / 1000, 1)}</td><td>{item.bound ?? 'bandwidth'}</td><td className="num">{item.dscp}</td><td>{item.lossless === false ? 'no' : 'yes'}</td></tr>)}</tbody>
                </table>
              )}
            </Shown>
          </Panel>
        </div>
      </div>
    </>
  );
}
