// What a caller may do, as the contract says of each operation. The service has the last word; this keeps the console from
// offering what would be refused.
import type { Schema } from '../api/client';

export type Caller = Schema['Caller'];
export type Operation = `${'GET' | 'PUT' | 'POST' | 'PATCH' | 'DELETE'} /${string}`;

// An operation without roles is everybody's; a role that this console does not know is asked of the service.
export function mayCall(roles: Record<string, string[]>, role: string | undefined, operation: string): boolean {
  const allowed = roles[operation];
  if (role === undefined || allowed === undefined) return true;
  return allowed.includes(role) || !Object.values(roles).some((list) => list.includes(role));
}

export function callerText({ name, role, tenant, node }: Caller): string {
  if (role === 'agent' && node) return `${name}, agent of ${node}`;
  return role === 'member' && tenant ? `${name}, member of ${tenant}` : `${name}, ${role}`;
}
