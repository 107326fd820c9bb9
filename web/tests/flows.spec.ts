// What an operator does, through the browser, against a real railweaved: find, look, ask what if, submit, drain and take
// back, lose the connection and go on.
import { expect, test, type Page } from '@playwright/test';
import { readFileSync } from 'node:fs';
import { fitCamera } from '../src/model/map/draw';
import { layoutMap, type FabricMap } from '../src/model/map/layout';
import { Service } from './service';

const service = new Service();
let page: Page;
const breaches: string[] = []; // of the Content-Security-Policy, by dialogs and menus too
test.beforeAll(async ({ browser }) => {
  await service.start();
  service.importFabric();
  service.cli('tenants', 'set', 'research', '--max-gpus', '96');
  page = await (await browser.newContext({ viewport: { width: 1280, height: 800 } })).newPage();
  page.on('console', (message) => {
    if (message.text().includes('Content Security Policy')) breaches.push(message.text());
  });
  page.on('pageerror', (error) => breaches.push(error.message));
  await page.goto(`${service.url}/`); // leads to the console
  await expect(page.getByRole('heading', { name: 'Overview' })).toBeVisible();
});
test.afterAll(async () => {
  await page.context().close();
  await service.stop();
});
test.describe.configure({ mode: 'serial' });

const main = () => page.locator('#main');
async function open(path: string) {
  await page.goto(`${service.url}/console${path}`);
  await expect(page.getByText(/^live ·/)).toBeVisible();
}

test('the keyboard finds anything and opens every view', async () => {
  await open('');
  await page.keyboard.press('/');
  await page.keyboard.type('leaf-u2-r1');
  await expect(page.getByRole('option', { name: /leaf-u2-r1/ })).toBeVisible();
  await page.screenshot({ path: 'screenshots/search.png' });
  await page.keyboard.press('Enter');
  await expect(page.getByRole('heading', { level: 1, name: 'leaf-u2-r1' })).toBeVisible();
  const { guid } = service.json<{ guid: string }>('switches', 'show', 'leaf-u2-r1');
  await page.keyboard.press('/');
  await page.keyboard.type(`0x${guid}`);
  await expect(page.getByRole('option', { name: /leaf-u2-r1/ })).toBeVisible();
  await page.keyboard.press('Escape');
  await page.keyboard.press('g');
  await page.keyboard.press('j');
  await expect(page.getByRole('heading', { level: 1, name: 'Jobs' })).toBeVisible();
  await page.keyboard.press('?');
  await expect(page.getByRole('dialog')).toContainText('Search for anything');
  await page.screenshot({ path: 'screenshots/keyboard.png', animations: 'disabled' });
  await page.keyboard.press('Escape');
  await expect(page.getByRole('dialog')).toHaveCount(0);
});

test('a what-if changes nothing, and a job is submitted', async () => {
  await open('/submit');
  await page.getByLabel('DP', { exact: true }).fill('17');
  await expect(page.getByTestId('outcome')).toContainText('It can never be placed');
  await expect(main()).toContainText('What would change it');
  await page.getByLabel('DP', { exact: true }).fill('4');
  await expect(page.getByTestId('outcome')).toContainText('It fits');
  await expect(page.getByTestId('placement').locator('.gpu.on')).toHaveCount(32);
  expect(service.json<{ items: unknown[] }>('jobs', 'list').items).toEqual([]);
  expect(page.url()).toContain('data=4'); // the URL is the what-if
  await page.getByLabel('Name', { exact: true }).fill('from-the-console');
  await page.getByRole('combobox', { name: 'Tenant' }).click();
  await page.screenshot({ path: 'screenshots/submit-menu.png', animations: 'disabled' });
  await page.getByRole('option', { name: 'research' }).click();
  await page.getByRole('button', { name: 'Submit' }).click();
  await expect(page.getByRole('heading', { level: 1, name: 'from-the-console' })).toBeVisible();
  const job = service.json<{ state: string; gpus: number; tenant: string }>('jobs', 'show', 'job-000001');
  expect(job).toMatchObject({ state: 'placed', gpus: 32, tenant: 'research' });
  // What is drawn is what the service says of each rank.
  const ranks = service.json<{ items: { node: string }[] }>('jobs', 'ranks', 'job-000001').items;
  await expect(page.getByTestId('placement').locator('.host')).toHaveCount(new Set(ranks.map((rank) => rank.node)).size);
  await expect(page.getByTestId('placement').locator('.gpu.on')).toHaveCount(ranks.length);
});

test('a job of another client appears by itself', async () => {
  await open('/jobs');
  await expect(main()).toContainText('from-the-console');
  service.cli('jobs', 'submit', '--tenant', 'research', '--name', 'by-another', '--tp', '8');
  await expect(main()).toContainText('by-another', { timeout: 3000 });
  await page.getByRole('searchbox', { name: 'Filter jobs' }).fill('by-another');
  await expect(main()).toContainText('1 of 2');
  const download = page.waitForEvent('download');
  await page.getByRole('button', { name: 'CSV' }).click();
  const text = readFileSync((await (await download).path())!, 'utf8');
  expect(text.split('\r\n')[0]).toContain('Job,Name,Tenant,State');
  expect(text.trim().split('\r\n')).toHaveLength(2);
});

test('a node is previewed, drained and taken back', async () => {
  const nodes = service.json<{ items: { id: string; freeGpus: number; gpus: number }[] }>('nodes', 'list').items;
  const idle = nodes.find((node) => node.freeGpus === node.gpus)!.id;
  await open(`/drain?kind=node&id=${idle}`);
  await expect(page.getByTestId('preview')).toContainText('Nothing objects');
  expect(service.json<{ items: unknown[] }>('drains').items).toEqual([]); // a preview drains nothing
  await page.getByLabel('Reason').fill('new fan');
  await page.getByRole('button', { name: 'Drain it' }).click();
  await expect(page.getByTestId('progress')).toContainText('Safe to unplug');
  expect(service.json<{ items: object[] }>('drains').items).toMatchObject([{ kind: 'node', id: idle, reason: 'new fan', state: 'drained' }]);
  await page.getByRole('button', { name: 'Take it back into use' }).click();
  await expect(page.getByTestId('progress')).toHaveCount(0);
  expect(service.json<{ items: unknown[] }>('drains').items).toEqual([]);
});

test('a drain that objects needs force and a reason', async () => {
  const busy = service.json<{ nodeList: string[] }>('jobs', 'show', 'job-000001').nodeList[0]!;
  const leaf = service.json<{ items: { id: string; ends: { switch?: string }[] }[] }>('links', 'list', '--node', busy).items[0]!.ends.find((end) => end.switch)!.switch!;
  await open(`/drain?kind=switch&id=${leaf}`);
  await expect(page.getByTestId('preview')).toContainText('Refused, unless forced');
  await expect(page.getByTestId('preview')).toContainText('job-000001');
  const button = page.getByRole('button', { name: 'Drain it' });
  await expect(button).toBeDisabled();
  await page.getByLabel('Force it').check();
  await expect(button).toBeDisabled();
  await page.getByLabel('Reason').fill('it burns');
  await expect(button).toBeEnabled();
});

test('several are one maintenance window, with what they cost together', async () => {
  // Either leaf of a rail alone leaves nodes connected; the spines together do not.
  await open('/drain?kind=switch&id=spine-1,spine-2,node:node-15');
  await expect(page.getByTestId('together')).toContainText('table entries change');
  await expect(main()).toContainText('What these 3 would do, each alone');
  await page.getByLabel('Switches, by name').fill('spine-1\nspine-2\nspine-3\nspine-4\nnode:node-15');
  await page.getByRole('button', { name: 'Preview', exact: true }).click();
  await expect(page.getByTestId('together')).toContainText('ports cut off');
  await page.getByLabel('Reason').fill('all of them');
  await expect(page.getByRole('button', { name: 'Drain these 5' })).toBeDisabled(); // though each alone is harmless
  await page.screenshot({ path: 'screenshots/drain-window.png', animations: 'disabled' });
  // Drained one after the other: the spine and the node.
  await page.getByLabel('Switches, by name').fill('spine-1\nnode:node-15');
  await page.getByRole('button', { name: 'Preview', exact: true }).click();
  await page.getByLabel('Reason').fill('window 7');
  const force = page.getByLabel('Force it');
  await expect(page.getByTestId('preview')).toBeVisible();
  if (await force.count()) await force.check();
  await page.getByRole('button', { name: 'Drain these 2' }).click();
  await expect(page.getByTestId('progress')).toHaveCount(2);
  expect(service.json<{ items: object[] }>('drains').items).toMatchObject([{ kind: 'switch', name: 'spine-1', reason: 'window 7' }, { kind: 'node', name: 'node-15' }]);
  for (let left = 2; left > 0; left -= 1) {
    await page.getByRole('button', { name: 'Take it back into use' }).first().click();
    await expect(page.getByTestId('progress')).toHaveCount(left - 1);
  }
  expect(service.json<{ items: unknown[] }>('drains').items).toEqual([]);
});

test('the map shows a drained node and opens what is clicked', async () => {
  await open('/fabric');
  const map = page.getByTestId('map');
  await page.waitForFunction(() => Number(document.querySelector<HTMLElement>('[data-testid=map]')?.dataset.rendered) > 0);
  expect(Number(await map.getAttribute('data-primitives'))).toBeGreaterThan(100);
  await expect(main()).toContainText('96 cables');
  const before = Number(await map.getAttribute('data-rendered'));
  const asked = page.waitForResponse((response) => response.url().includes('/v1/fabric/map'));
  service.cli('nodes', 'drain', 'node-16', '--reason', 'test');
  const shown = (await (await asked).json()) as FabricMap;
  expect(shown.groups.find((group) => group.name === 'node-16')!.drained).toBe(1);
  await page.waitForFunction((was) => Number(document.querySelector<HTMLElement>('[data-testid=map]')?.dataset.rendered) > was, before);
  await map.focus();
  await page.keyboard.press('+'); // the keyboard moves it, too
  await page.keyboard.press('0');
  const box = (await map.boundingBox())!;
  // Where the layout says that a spine is, it is under the pointer.
  const layout = layoutMap(shown);
  const camera = fitCamera(layout, box.width, box.height);
  const spine = layout.boxes.find(({ group }) => group.name === 'spine-2')!;
  await page.mouse.move(box.x + (spine.x + spine.w / 2 - camera.x) * camera.scale, box.y + (spine.y + spine.h / 2 - camera.y) * camera.scale);
  await expect(page.locator('.map-tip')).toContainText('spine-2');
  await page.mouse.down();
  await page.mouse.up();
  await expect(page.getByRole('heading', { level: 1, name: 'spine-2' })).toBeVisible();
});

test('a certificate is verified where it is shown, and downloaded', async () => {
  service.cli('contracts', 'set', 'research', '--guaranteed', '10', '--class', 'all-reduce');
  await open('/guarantees');
  await expect(main()).toContainText('job-000001');
  await page.getByRole('button', { name: 'Verify' }).click();
  await expect(page.getByTestId('certificate')).toContainText('Adds up');
  const download = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Download the certificate' }).click();
  const certificate = JSON.parse(readFileSync((await (await download).path())!, 'utf8')) as { railweave: string };
  expect(certificate.railweave).toBe('certificate');
});

test('a lost connection is said, and what was missed is there when it is back', async () => {
  await open('/events');
  await expect(main()).toContainText('job-000001');
  await service.stop();
  await expect(page.getByText('not live')).toBeVisible();
  await expect(page.getByText('What you see may be stale.')).toBeVisible();
  await expect(main()).toContainText('job-000001'); // what is known stays
  await service.start();
  service.cli('tenants', 'set', 'meanwhile');
  await page.getByRole('button', { name: 'Connect now' }).click();
  await expect(page.getByText(/^live ·/)).toBeVisible();
  await expect(main()).toContainText('meanwhile');
  await expect(page.getByText('What you see may be stale.')).toHaveCount(0);
});

test('errors of the service are shown as it says them', async () => {
  await open('/switches/nothing');
  await expect(page.getByRole('alert')).toContainText('switches.notFound');
  await open('/path?from=node-01&to=nowhere');
  await expect(page.getByRole('alert').first()).toContainText('endPorts.notFound');
});

test('a job is cancelled, with a reason', async () => {
  await open('/jobs/job-000002');
  await page.getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('dialog').getByLabel('Reason').fill('diverged');
  await page.screenshot({ path: 'screenshots/cancel.png', animations: 'disabled' });
  await page.getByRole('button', { name: 'Cancel the job' }).click();
  await expect(page.getByRole('dialog')).toHaveCount(0);
  await expect(page.locator('.title')).toContainText('cancelled');
  const { history } = service.json<{ history: { reason: string }[] }>('jobs', 'show', 'job-000002');
  expect(history.at(-1)!.reason).toContain('diverged');
});

test('members without GPUs and taints are asked for, and shown where they are', async () => {
  await open('/submit');
  const node = service.json<{ items: { id: string }[] }>('nodes', 'list').items[0]!.id;
  service.cli('nodes', 'set', node, '--taint', 'dedicated=inference');
  await page.getByLabel('DP', { exact: true }).fill('16');
  await expect(main()).toContainText(`tainted: dedicated=inference ${node}`);
  await page.getByLabel('Taints to tolerate').fill('dedicated');
  await expect(page.getByTestId('outcome')).not.toContainText('It can never be placed');
  await page.getByLabel('DP', { exact: true }).fill('1');
  await page.getByLabel('Members without GPUs').fill('driver');
  await expect(main()).toContainText('names and numbers');
  await page.getByLabel('Members without GPUs').fill('driver=1, loader=4:2');
  await expect(page.getByTestId('outcome')).toContainText('It fits');
  await expect(main()).toContainText('loader, without GPUs');
  await expect(main()).toContainText('--cpu-role loader=4:2');
  await page.getByLabel('Name', { exact: true }).fill('with-members');
  await page.getByRole('combobox', { name: 'Tenant' }).click();
  await page.getByRole('option', { name: 'research' }).click();
  await page.getByRole('button', { name: 'Submit' }).click();
  await expect(page.getByRole('heading', { level: 1, name: 'with-members' })).toBeVisible();
  const id = page.url().split('/').at(-1)!.split('?')[0]!;
  const [driver] = service.json<{ placement: { cpuRoles: { nodes: string[] }[] } }>('jobs', 'show', id).placement.cpuRoles;
  await expect(main().getByText('driver, without GPUs')).toBeVisible();
  await expect(main().getByRole('link', { name: driver!.nodes[0], exact: true }).first()).toBeVisible();
  service.cli('jobs', 'cancel', id);
  service.cli('nodes', 'set', node, '--taint', 'dedicated-');
});

test('nothing broke the Content-Security-Policy or a script', () => {
  expect(breaches).toEqual([]);
});
