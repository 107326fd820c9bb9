// What each role is shown and offered, against a service that asks for tokens: a member sees its own tenant and why its job
// waits, a viewer everything and no buttons, an operator may drain. What is hidden is refused by the service as well.
import { expect, test, type Page } from '@playwright/test';
import axe from 'axe-core';
import { seededService } from './seeded';

const service = seededService('tokens');

async function enter(page: Page, token: string) {
  await page.addInitScript((text) => sessionStorage.setItem('railweave.token', text), token);
  await page.goto(`${service.url}/console`);
  await expect(page.getByText(/^live ·/)).toBeVisible();
}
const open = (page: Page, path: string) => page.goto(`${service.url}/console${path}`);

test('a member sees its own tenant alone, and why its job waits', async ({ page }) => {
  const refused: string[] = [];
  const answers: string[] = [];
  page.on('response', async (response) => {
    if (response.status() === 403) refused.push(response.url());
    if (response.headers()['content-type']?.includes('json')) answers.push(await response.text().catch(() => ''));
  });
  await enter(page, service.issue('mia', 'member', '--tenant', 'research'));
  await expect(page.getByTestId('caller')).toHaveText('mia, member of research');
  const views = page.getByRole('navigation', { name: 'Views' });
  await expect(views.getByRole('link', { name: 'Jobs' })).toBeVisible();
  for (const name of ['Fabric', 'Paths', 'Drains', 'Guarantees', 'Planning']) await expect(views.getByRole('link', { name, exact: true })).toHaveCount(0);
  await expect(page.locator('#main')).toContainText('What research holds');
  await expect(page.locator('#main')).toContainText('44'); // GPUs held
  await page.screenshot({ path: 'screenshots/member-overview.png' });

  await open(page, '/jobs');
  await expect(page.locator('#main')).toContainText('llama-70b');
  await open(page, '/queue');
  await expect(page.locator('#main')).toContainText('quota of tenant research');
  await open(page, '/jobs/job-000004');
  await expect(page.locator('#main')).toContainText('quota of tenant research');
  await page.screenshot({ path: 'screenshots/member-job-waits.png' });
  await open(page, '/jobs/job-000001');
  await expect(page.getByTestId('placement').locator('.gpu.on')).toHaveCount(32);
  await open(page, '/submit?tensor=8&tenant=research');
  await expect(page.locator('#main')).toContainText('It fits');
  await expect(page.getByRole('button', { name: 'Submit' })).toBeVisible();
  await open(page, '/events');
  await expect(page.locator('#main')).toContainText('llama-70b');
  await open(page, '/fabric');
  await expect(page.locator('#main')).toContainText('Not for your role');
  await open(page, '/jobs/job-000003'); // of another tenant
  await expect(page.getByRole('alert')).toContainText('jobs.notFound');

  expect(answers.length).toBeGreaterThan(10);
  for (const answer of answers) expect(answer).not.toMatch(/serving|retrain/); // jobs of product, whatever was asked for
  expect(refused).toEqual([]); // nothing is asked for that this role is refused
  await page.evaluate(axe.source);
  const serious = await page.evaluate(async () => {
    const { violations } = await (window as unknown as { axe: { run: () => Promise<{ violations: { id: string; impact: string }[] }> } }).axe.run();
    return violations.filter(({ impact }) => impact === 'serious' || impact === 'critical').map(({ id }) => id);
  });
  expect(serious).toEqual([]);
});

test('a viewer sees everything and is offered no change', async ({ page }) => {
  const token = service.issue('vera', 'viewer');
  await enter(page, token);
  await expect(page.locator('#main')).toContainText('used of 128');
  const leaf = service.json<{ items: { id: string }[] }>('switches', 'list').items[0]!.id;
  await open(page, `/switches/${leaf}`);
  await expect(page.getByRole('heading', { level: 1, name: leaf })).toBeVisible();
  await expect(page.locator('.title').getByRole('link', { name: 'Drain' })).toHaveCount(0);
  await open(page, '/jobs/job-000001');
  await expect(page.getByTestId('placement')).toBeVisible();
  await expect(page.getByRole('button', { name: 'Cancel' })).toHaveCount(0);
  await open(page, '/submit?tensor=8&tenant=research');
  await expect(page.locator('#main')).toContainText('It fits');
  await expect(page.getByRole('button', { name: 'Submit' })).toHaveCount(0);
  await open(page, `/drain?kind=switch&id=${leaf}`);
  await expect(page.locator('#main')).toContainText('Not for your role');
  // The console hides; the service refuses.
  const response = await page.request.post(`${service.url}/v1/switches/${leaf}/drain`, { headers: { Authorization: `Bearer ${token}` }, data: { reason: 'x' } });
  expect(response.status()).toBe(403);
  expect(service.json<{ items: { kind: string }[] }>('drains').items.filter((drain) => drain.kind === 'switch')).toEqual([]);
});

test('an operator drains in its own name, and saves rank files with its token', async ({ page }) => {
  await enter(page, service.issue('olga', 'operator'));
  const idle = service.json<{ items: { id: string; freeGpus: number; gpus: number; drained?: boolean }[] }>('nodes', 'list').items.find((node) => node.freeGpus === node.gpus && !node.drained)!.id;
  await open(page, `/drain?kind=node&id=${idle}`);
  await page.getByLabel('Reason').fill('new fan');
  await page.getByRole('button', { name: 'Drain it' }).click();
  await expect(page.getByTestId('progress')).toContainText('Safe to unplug');
  await expect(page.getByTestId('progress').locator('..')).toContainText('olga');
  await open(page, '/jobs/job-000001?tab=ranks');
  const download = page.waitForEvent('download');
  await page.getByRole('button', { name: 'hostfile' }).click();
  expect((await download).suggestedFilename()).toBe('job-000001.hostfile');
});
