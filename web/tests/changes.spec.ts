// What an administrator and an operator change in the console: tenants, contracts, reservations, rules, jobs that wait, jobs
// that run already, jobs with a launcher. What was done is read with the command line.
import { expect, test, type Page } from '@playwright/test';
import { Service } from './service';

const service = new Service();
let page: Page;
test.beforeAll(async ({ browser }) => {
  await service.start();
  service.importFabric();
  service.cli('tenants', 'set', 'research', '--max-gpus', '128');
  page = await (await browser.newContext({ viewport: { width: 1280, height: 800 }, timezoneId: 'America/New_York' })).newPage();
});
test.afterAll(async () => {
  await page.context().close();
  await service.stop();
});
test.describe.configure({ mode: 'serial' });

const main = () => page.locator('#main');
const dialog = () => page.getByRole('dialog');
const field = (label: string) => dialog().getByRole('textbox', { name: label, exact: true }).or(dialog().getByLabel(label, { exact: true })).first();
async function open(path: string) {
  await page.goto(`${service.url}/console${path}`);
  await expect(page.getByText(/^live ·/)).toBeVisible();
}
const tenant = (name: string) => service.json<Record<string, unknown>>('tenants', 'show', name);
const job = (id: string) => service.json<Record<string, any>>('jobs', 'show', id);

test('a tenant is made, changed and removed', async () => {
  await open('/tenants');
  await page.getByRole('button', { name: 'New tenant' }).click();
  await dialog().getByRole('button', { name: 'Save' }).click();
  await expect(dialog()).toContainText('letters, digits'); // nothing is sent without a name
  await field('Name').fill('product');
  await field('At most').fill('64');
  await field('Description').fill('what customers use');
  await page.screenshot({ path: 'screenshots/tenant-form.png', animations: 'disabled' });
  await dialog().getByRole('button', { name: 'Save' }).click();
  await expect(dialog()).toHaveCount(0);
  await expect(main().getByRole('link', { name: 'product' })).toBeVisible();
  expect(tenant('product')).toMatchObject({ maxGpus: 64, quotaGpus: null, description: 'what customers use', weight: 1 });
  // One of that name is not overwritten.
  await page.getByRole('button', { name: 'New tenant' }).click();
  await field('Name').fill('research');
  await dialog().getByRole('button', { name: 'Save' }).click();
  await expect(dialog().getByRole('alert')).toContainText('precondition.exists');
  expect(tenant('research')).toMatchObject({ maxGpus: 128 });
  await dialog().getByRole('button', { name: 'Close' }).first().click();

  await open('/tenants/product');
  await main().getByRole('button', { name: 'Change', exact: true }).click();
  await expect(field('At most')).toHaveValue('64');
  await field('Weight').fill('2.5');
  await dialog().getByRole('button', { name: 'Save' }).click();
  await expect(dialog()).toHaveCount(0);
  expect(tenant('product')).toMatchObject({ maxGpus: 64, weight: 2.5, description: 'what customers use' });
});

test('a change that someone else was faster with is refused, and offers what it is now', async () => {
  await open('/tenants/product');
  await main().getByRole('button', { name: 'Change', exact: true }).click();
  await expect(field('At most')).toHaveValue('64');
  service.cli('tenants', 'set', 'product', '--max-gpus', '80');
  await field('Description').fill('mine');
  await dialog().getByRole('button', { name: 'Save' }).click();
  await expect(dialog().getByRole('alert')).toContainText('precondition.versionDiffers');
  expect(tenant('product')).toMatchObject({ maxGpus: 80, description: 'what customers use' });
  await dialog().getByRole('button', { name: 'Load what it is now' }).click();
  await expect(field('At most')).toHaveValue('80');
  await field('Description').fill('mine');
  await dialog().getByRole('button', { name: 'Save' }).click();
  await expect(dialog()).toHaveCount(0);
  expect(tenant('product')).toMatchObject({ maxGpus: 80, description: 'mine' });
});

test('a contract is given, changed and taken back', async () => {
  await open('/tenants/product');
  await main().getByRole('button', { name: 'Give it one' }).click();
  await field('Guaranteed Gb/s').fill('20');
  await field('Classes').fill('all-reduce');
  await field('Also after any single link failure').check();
  await expect(dialog().locator('.cli')).toContainText('contracts set product --guaranteed 20 --per port --model hose --survive');
  await page.screenshot({ path: 'screenshots/contract-form.png', animations: 'disabled' });
  await dialog().getByRole('button', { name: 'Save' }).click();
  await expect(dialog()).toHaveCount(0);
  const contract = () => service.json<Record<string, unknown>>('contracts', 'show', 'product');
  expect(contract()).toMatchObject({ guaranteedGbps: 20, classes: ['all-reduce'], surviveLinkFailure: true, maxGbps: null });
  await main().getByRole('button', { name: 'Change the contract' }).click();
  await expect(field('Guaranteed Gb/s')).toHaveValue('20');
  await field('Classes').fill('no-such-class');
  await dialog().getByRole('button', { name: 'Save' }).click();
  await expect(dialog().getByRole('alert')).toContainText('contracts.unknownClass'); // the service has the last word
  await field('Classes').fill('');
  await field('For each').selectOption('perJob');
  await dialog().getByRole('button', { name: 'Save' }).click();
  await expect(dialog()).toHaveCount(0);
  expect(contract()).toMatchObject({ basis: 'perJob', classes: [], surviveLinkFailure: true });
  await main().getByRole('button', { name: 'Change the contract' }).click();
  await dialog().getByRole('button', { name: 'Remove the contract' }).click();
  await expect(main()).toContainText('It has no contract');
});

test('GPUs are set aside, in the zone that is chosen', async () => {
  const node = service.json<{ items: { id: string }[] }>('nodes', 'list').items[2]!.id;
  await open('/queue?tab=reservations');
  await page.getByRole('button', { name: /^Times are/ }).click(); // local: five hours behind
  await main().getByRole('button', { name: 'Set GPUs aside' }).click();
  await field('Name').fill('firmware');
  await field('From').fill('2027-01-10T08:00');
  await field('To').fill('2027-01-10T12:00');
  await field('Nodes').fill(node);
  await dialog().getByRole('button', { name: 'Save' }).click();
  await expect(dialog()).toHaveCount(0);
  const reservations = () => service.json<{ items: Record<string, unknown>[] }>('reservations', 'list').items;
  expect(reservations()).toMatchObject([{ id: 'firmware', kind: 'maintenance', from: '2027-01-10T13:00:00Z', to: '2027-01-10T17:00:00Z', gpus: 8 }]);
  await expect(main()).toContainText('2027-01-10 08:00');
  await page.getByRole('button', { name: /^Times are/ }).click();
  await expect(main()).toContainText('2027-01-10 13:00');
  await main().getByRole('button', { name: 'Change' }).click();
  await expect(field('From')).toHaveValue('2027-01-10T13:00');
  await field('Reason').fill('new firmware');
  await dialog().getByRole('button', { name: 'Save' }).click();
  await expect(dialog()).toHaveCount(0);
  expect(reservations()).toMatchObject([{ reason: 'new firmware', from: '2027-01-10T13:00:00Z' }]);
  await main().getByRole('button', { name: 'Change' }).click();
  await dialog().getByRole('button', { name: 'Remove it' }).click();
  await expect(main()).toContainText('Nothing is set aside');
});

test('the rules of the queue are changed', async () => {
  await open('/queue?tab=policy');
  await main().getByRole('button', { name: 'Change' }).click();
  await field('Backfill').selectOption('conservative');
  await field('Duration of jobs that say none').fill('12h');
  await dialog().getByRole('button', { name: 'Add' }).click();
  const rows = dialog().locator('fieldset tbody tr');
  await rows.last().getByLabel(/^Name, row/).fill('urgent');
  await rows.last().getByLabel(/^Value, row/).fill('500');
  await rows.last().getByLabel(/^May evict/).check();
  await page.screenshot({ path: 'screenshots/policy-form.png', animations: 'disabled' });
  await dialog().getByRole('button', { name: 'Save' }).click();
  await expect(dialog()).toHaveCount(0);
  const policy = service.json<{ backfill: string; defaultDuration: string; priorityClasses: Record<string, unknown>[] }>('queue', 'policy');
  expect(policy).toMatchObject({ backfill: 'conservative', defaultDuration: 'PT12H' });
  expect(policy.priorityClasses.find((item) => item.name === 'urgent')).toEqual({ name: 'urgent', value: 500, mayPreempt: true, preemptible: false });
  await expect(main()).toContainText('urgent (500)');
});

test('waiting jobs are held, released, reordered and changed', async () => {
  const submit = (...args: string[]) => service.cli('jobs', 'submit', '--tenant', 'research', ...args);
  submit('--name', 'all', '--tp', '8', '--dp', '16', '--duration', 'PT2H');
  submit('--name', 'first', '--tp', '8', '--dp', '8', '--queue');
  submit('--name', 'second', '--tp', '8', '--dp', '4', '--queue');
  await open('/queue');
  const rows = main().locator('table').filter({ hasText: 'Waits for' }).locator('tbody tr');
  await expect(rows.nth(0)).toContainText('job-000002');
  await rows.filter({ hasText: 'job-000003' }).getByRole('button', { name: 'Move job-000003 up' }).click();
  await expect(rows.nth(0)).toContainText('job-000003');
  expect(service.json<{ items: { id: string }[] }>('queue', 'list').items.map((item) => item.id)).toEqual(['job-000003', 'job-000002']);
  await expect(rows.nth(0).getByRole('button', { name: 'Move job-000003 up' })).toBeDisabled();
  await rows.nth(0).getByRole('button', { name: 'Hold job-000003' }).click();
  await expect(rows.nth(0)).toContainText('held');
  expect(job('job-000003').hold).not.toBeNull();

  await open('/jobs/job-000003');
  await expect(page.getByTestId('hold')).toBeVisible();
  await main().getByRole('button', { name: 'Release' }).click();
  await expect(page.getByTestId('hold')).toHaveCount(0);
  expect(job('job-000003').hold).toBeNull();
  // When it starts, and what has to end before.
  await expect(page.getByTestId('expected')).toContainText('job-000001');
  expect(job('job-000003').expectedStart.ends.map((end: { job: string }) => end.job)).toEqual(['job-000001']);
  await page.screenshot({ path: 'screenshots/job-expected.png', animations: 'disabled' });
  await main().getByRole('button', { name: 'Change', exact: true }).click();
  service.cli('tenants', 'set', job('job-000003').tenant, '--max-priority', 'urgent');
  await field('Priority').selectOption('urgent');
  await field('Expected to run').fill('6h');
  await expect(dialog().locator('.cli')).toContainText('jobs change job-000003 --priority urgent --duration PT6H');
  await dialog().getByRole('button', { name: 'Save' }).click();
  await expect(dialog()).toHaveCount(0);
  expect(job('job-000003')).toMatchObject({ priority: 'urgent', spec: { expectedDuration: 'PT6H' } });
  // One that runs: its durations alone.
  await open('/jobs/job-000001');
  await main().getByRole('button', { name: 'Change', exact: true }).click();
  await expect(field('Expected to run')).toHaveValue('PT2H');
  await expect(field('Priority')).toHaveCount(0);
  await dialog().getByRole('button', { name: 'Close' }).first().click();
  for (const id of ['job-000003', 'job-000002', 'job-000001']) service.cli('jobs', 'cancel', id);
});

test('a job that runs already is taken over', async () => {
  const nodes = service.json<{ items: { id: string }[] }>('nodes', 'list').items.map((item) => item.id);
  await open('/submit?tensor=8&data=2&tenant=research&name=taken-over');
  await page.getByLabel('Runs already on').fill(`${nodes[0]}, ${nodes[9]}`);
  await expect(main().locator('.send .cli')).toContainText(`jobs adopt --tenant research --name taken-over --tp 8 --dp 2 --on ${nodes[0]} --on ${nodes[9]}`);
  await main().getByRole('button', { name: 'Adopt' }).click();
  await expect(page.getByRole('heading', { level: 1, name: 'taken-over' })).toBeVisible();
  await expect(page.getByTestId('adopted')).toBeVisible();
  expect(job('job-000004')).toMatchObject({ state: 'placed', nodeList: [nodes[0], nodes[9]] });
  expect(job('job-000004').adopted).not.toBeNull();
  service.cli('jobs', 'cancel', 'job-000004');
});

test('a job with a launcher goes through its phases', async () => {
  await open('/submit?tensor=8&data=2&tenant=research&name=launched&launcher=true');
  await main().getByRole('button', { name: 'Submit' }).click();
  await expect(page.getByRole('heading', { level: 1, name: 'launched' })).toBeVisible();
  const launch = page.getByTestId('launch');
  await expect(main().locator('.title')).toContainText('offered');
  await expect(launch).toContainText('in 1 min');
  await page.screenshot({ path: 'screenshots/job-offered.png', animations: 'disabled' });
  await launch.getByRole('button', { name: 'Accept' }).click();
  await expect(main().locator('.title')).toContainText('accepted');
  await launch.getByRole('button', { name: 'It runs' }).click();
  await expect(launch.getByRole('button')).toHaveCount(0);
  expect(job('job-000005').phase).toBe('running');
  await main().getByRole('button', { name: 'Cancel' }).click();
  await dialog().getByRole('button', { name: 'Cancel the job' }).click();
  await expect(main().locator('.title')).toContainText('releasing');
  await expect(launch).toContainText('0 of 2 nodes are free');
  await open('/jobs');
  await expect(main().locator('tr', { hasText: 'job-000005' })).toContainText('releasing');
  await open('/jobs/job-000005');
  await page.getByTestId('launch').getByRole('button', { name: 'Its nodes are free' }).click();
  await expect(main().locator('.title')).toContainText('cancelled');
  expect(job('job-000005').state).toBe('cancelled');
});
