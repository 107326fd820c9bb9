// The size of the first download, compressed as a browser gets it: index.html and what it needs to show the first view.
// Licences of everything that is delivered are listed and held to a list, too.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

const BUDGET_KB = 400;
const LICENCES = new Set(['MIT', 'ISC', '0BSD', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', 'Unlicense', '(MIT OR CC0-1.0)']);
const root = join(import.meta.dirname, '..');
const dist = join(root, 'dist');

const index = readFileSync(join(dist, 'index.html'), 'utf8');
const first = [...index.matchAll(/(?:src|href)="\/console\/(assets\/[^"]+)"/g)].map((match) => match[1]);
if (first.length < 2) throw new Error('index.html names no scripts or styles');
const size = (name) => gzipSync(readFileSync(join(dist, name)), { level: 9 }).length / 1000;
const firstKb = ['index.html', ...first].reduce((sum, name) => sum + size(name), 0);
const allKb = readdirSync(join(dist, 'assets')).reduce((sum, name) => sum + size(join('assets', name)), 0);
console.log(`first download ${firstKb.toFixed(0)} kB of ${BUDGET_KB}, everything ${allKb.toFixed(0)} kB, compressed`);

const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
const problems = firstKb > BUDGET_KB ? [`the first download is ${firstKb.toFixed(0)} kB`] : [];
for (const [path, entry] of Object.entries(lock.packages)) {
  if (entry.resolved) problems.push(`${path}: package-lock.json names a registry`);
  if (path === '' || entry.dev || entry.peer) continue;
  const licence = entry.license ?? JSON.parse(readFileSync(join(root, path, 'package.json'), 'utf8')).license;
  if (!LICENCES.has(licence)) problems.push(`${path}: licence ${licence}`);
  if (entry.hasInstallScript) problems.push(`${path} runs a script when it is installed`);
}
for (const problem of problems) console.error(problem);
process.exit(problems.length > 0 ? 1 : 0);
