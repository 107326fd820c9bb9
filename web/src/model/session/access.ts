// What a caller may do, as the contract says of each operation. The service has the last word; this keeps the console from
// offering what would be refused.
import type { Schema } from '../../api/client';

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

// "Operators and administrators": who may, for one who may not.
export function seenBy(roles: Record<string, string[]>, operation: string): string {
  const names = (roles[operation] ?? []).map((role) => `${role}s`);
  const text = names.length > 1 ? `${names.slice(0, -1).join(', ')} and ${names.at(-1)}` : (names[0] ?? 'others');
  return text[0]!.toUpperCase() + text.slice(1);
}

export const article = (role: string) => `${/^[aeiou]/.test(role) ? 'an' : 'a'} ${role}`;
