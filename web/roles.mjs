// Which roles may call which operation, from the contract's `x-roles`: src/api/roles.json. Absent: everybody may.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import yaml from 'js-yaml';

const contract = yaml.load(readFileSync(join(import.meta.dirname, '../api/openapi.yaml'), 'utf8'));
const METHODS = ['get', 'put', 'post', 'patch', 'delete'];
const roles = {};
for (const [path, operations] of Object.entries(contract.paths)) {
  for (const method of METHODS) {
    const allowed = operations[method]?.['x-roles'];
    if (allowed) roles[`${method.toUpperCase()} ${path}`] = allowed;
  }
}
if (Object.keys(roles).length === 0) throw new Error('the contract names no roles');
writeFileSync(join(import.meta.dirname, 'src/api/roles.json'), `${JSON.stringify(roles, null, 1)}\n`);
