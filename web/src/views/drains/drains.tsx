// What is out of use on purpose, and how far each is.
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { drainsQuery } from '../../api/queries';
import { command } from '../../model/cli';
import { words } from '../../model/format';
import { tone } from '../../model/tones';
import { Badge, Cli, Empty, Panel, Shown, SubjectLink, Title, When } from '../../parts/basics';
import { May } from '../../parts/may';
import { DataTable } from '../../parts/table';

export function Drains() {
  const query = useQuery({ ...drainsQuery(), refetchInterval: 10_000 });
  return (
    <>
      <Title actions={<><Cli line={command('drains')} /><May call="POST /v1/links/{id}/drain"><Link to="/drain">Drain something</Link></May></>}>Drain and repair</Title>
      <Panel title="Out of use on purpose" flush>
        <Shown query={query}>
          {({ items }) => (
            <DataTable
              name="drains"
              rows={items}
              rowKey={(item) => `${item.kind}/${item.id}`}
              empty={<Empty title="Nothing is drained"><May call="POST /v1/links/{id}/drain"><div className="row"><Link to="/drain">Drain a link, a switch or a node</Link></div></May></Empty>}
              columns={[
                { id: 'kind', name: 'Kind', value: (item) => item.kind },
                { id: 'id', name: 'What', value: (item) => item.name, cell: (item) => <SubjectLink kind={item.kind} id={item.id} name={item.name} /> },
                { id: 'state', name: 'State', value: (item) => item.state, cell: (item) => <Badge tone={tone(item.state)}>{item.state === 'drained' ? 'safe to unplug' : words(item.state)}</Badge> },
                { id: 'waits', name: 'Waits for', value: (item) => item.waitsFor, wrap: true },
                { id: 'reason', name: 'Reason', value: (item) => item.reason || null, wrap: true },
                { id: 'actor', name: 'By', value: (item) => item.actor },
                { id: 'since', name: 'Since', value: (item) => item.requestedAt, cell: (item) => <When at={item.requestedAt} relative /> },
                { id: 'forced', name: 'Forced', value: (item) => (item.forced ? 'yes' : null) },
                { id: 'undo', name: '', value: () => null, cell: (item) => <May call="POST /v1/links/{id}/undrain"><Link to="/drain" search={{ kind: item.kind === 'siteLink' ? 'link' : item.kind, id: item.id } as never}>Progress, undo</Link></May> },
              ]}
            />
          )}
        </Shown>
      </Panel>
    </>
  );
}
