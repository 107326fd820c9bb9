// Tenants and their contracts, as forms.
import { body, client, ifMatch, ifNew, tagged } from '../../api/client';
import { bodyOf, type Values } from '../../model/fields';
import type { Zone } from '../../model/format';
import { CONTRACT, contractCommand, TENANT, tenantCommand } from '../../model/resources';
import type { Editing } from '../../parts/edit';

type Json = Record<string, unknown>;
const tenantLine = ({ name, values, zone }: { name: string; values: Values; zone: Zone }) => tenantCommand(name, bodyOf(TENANT, values, zone));

export const newTenant: Editing = {
  title: 'A new tenant',
  named: 'Name',
  fields: TENANT,
  start: { weight: 1, repair: 'propose', repairAfterSeconds: 30, maxPriority: 'normal', moves: true },
  save: ({ name, values, zone }) => body(client.PUT('/v1/tenants/{name}', { params: { path: { name } }, headers: ifNew, body: bodyOf(TENANT, values, zone) as never })),
  line: tenantLine,
  saved: 'The tenant is set',
};

export const editTenant = (name: string): Editing => ({
  title: `Tenant ${name}`,
  fields: TENANT,
  load: async () => (await tagged(client.GET('/v1/tenants/{name}', { params: { path: { name } } }))) as { value: Json; tag: string | null },
  save: ({ values, zone, tag }) => body(client.PUT('/v1/tenants/{name}', { params: { path: { name } }, headers: ifMatch(tag), body: bodyOf(TENANT, values, zone) as never })),
  line: ({ values, zone }) => tenantLine({ name, values, zone }),
  saved: `${name} is changed`,
  remove: { label: 'Remove the tenant', run: (tag) => body(client.DELETE('/v1/tenants/{name}', { params: { path: { name } }, headers: ifMatch(tag) })) },
});

export const editContract = (tenant: string, exists: boolean): Editing => ({
  title: `Contract of ${tenant}`,
  fields: CONTRACT,
  ...(exists
    ? { load: async () => (await tagged(client.GET('/v1/contracts/{tenant}', { params: { path: { tenant } } }))) as { value: Json; tag: string | null } }
    : { start: { guaranteedGbps: 0, basis: 'perPort', model: 'hose', reservedPermille: 1000 } }),
  save: ({ values, zone, tag }) => body(client.PUT('/v1/contracts/{tenant}', { params: { path: { tenant } }, headers: exists ? ifMatch(tag) : ifNew, body: bodyOf(CONTRACT, values, zone) as never })),
  line: ({ values, zone }) => contractCommand(tenant, bodyOf(CONTRACT, values, zone)),
  saved: `The contract of ${tenant} is ${exists ? 'changed' : 'set'}`,
  ...(exists ? { remove: { label: 'Remove the contract', run: (tag: string | null) => body(client.DELETE('/v1/contracts/{tenant}', { params: { path: { tenant } }, headers: ifMatch(tag) })) } } : {}),
});
