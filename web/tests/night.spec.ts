// An alarm at night: what needs a person is said in words that can be acted on, and what to do is beside it.
import { expect, test } from '@playwright/test';
import { serious } from './axe';
import { Service } from './service';

const service = new Service();
test.beforeAll(async () => {
  await service.start();
  // Two sites whose link is down under a job: damage without a simulated subnet.
  service.cli('lab', 'generate', 'rail-optimized', '--hosts', '4', '--gpus-per-host', '4', '--nvlink-domain', '4', '--sites', '2', '--wan-links', '2', '--wan-rate', '100', '--wan-km', '80', '-O', 'sites.json');
  service.cli('fabric', 'import', 'sites.json');
  service.cli('tenants', 'set', 'research');
  service.cli('jobs', 'submit', '--tenant', 'research', '--name', 'wide', '--tp', '4', '--dp', '8', '--across-sites');
  service.cli('links', 'report', 'site-1--site-2', '--state', 'down', '--reason', 'cut by a digger');
});
test.afterAll(async () => {
  await service.stop();
});

test('a damaged job looks damaged, and its repair is offered where its alarm is read', async ({ page }) => {
  await page.goto(`${service.url}/console`);
  const needs = page.locator('section', { hasText: 'Needs a person' }).first();
  await expect(needs).toContainText('is damaged');
  await expect(needs).not.toContainText('/v1/');
  await page.screenshot({ path: 'screenshots/night-overview.png' });
  expect(await serious(page, [])).toEqual([]);
  await page.goto(`${service.url}/console/jobs`);
  await expect(page.locator('tr', { hasText: 'job-000001' })).toContainText('damaged');
  await page.goto(`${service.url}/console/alarms`);
  const row = page.locator('tr', { hasText: 'is damaged' });
  await expect(row).not.toContainText('/v1/');
  await page.screenshot({ path: 'screenshots/night-alarms.png' });
  expect(await serious(page, [])).toEqual([]);
  await row.getByRole('link', { name: 'Repair' }).click();
  await expect(page.getByTestId('repair')).toBeVisible();
  await expect(page.getByTestId('repair')).toContainText('railweave jobs repair job-000001');
  await page.keyboard.press('Escape');
  await expect(page.getByTestId('repair')).toHaveCount(0);
  await expect(page.locator('.title')).toContainText('damaged');
});

test('what is typed goes into the note of the dialog', async ({ page }) => {
  await page.goto(`${service.url}/console/alarms`);
  await page.locator('tr', { hasText: 'is damaged' }).getByRole('button', { name: 'Acknowledge' }).click();
  await expect(page.getByRole('dialog').getByLabel('Note')).toBeFocused();
  await page.keyboard.type('INC-42 on it');
  await expect(page.getByRole('dialog').getByLabel('Note')).toHaveValue('INC-42 on it');
  await page.keyboard.press('Enter');
  await expect(page.locator('tr', { hasText: 'is damaged' })).toHaveCount(0);
});

test('an alarm is muted for a time, apart from the others, and its dialog outlives its row', async ({ page }) => {
  service.cli('alarms', 'unacknowledge', 'job.damaged:job-000001');
  await page.goto(`${service.url}/console/alarms`);
  const row = page.locator('tr', { hasText: 'is damaged' });
  await row.getByRole('button', { name: 'Mute' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Why').fill('typed while');
  // What is wrong changes under the dialog: another alarm comes, this one goes from the list.
  service.cli('alarms', 'acknowledge', 'job.damaged:job-000001', '--note', 'of another person');
  await expect(page.locator('table tr', { hasText: 'is damaged' })).toHaveCount(0);
  await expect(dialog.getByLabel('Why')).toHaveValue('typed while');
  await dialog.getByLabel('For').selectOption('30 min');
  await dialog.getByRole('button', { name: 'Mute' }).click();
  const muted = page.getByTestId('muted').locator('tr', { hasText: 'is damaged' });
  await expect(muted).toContainText('typed while');
  await page.screenshot({ path: 'screenshots/night-muted.png' });
  expect(await serious(page, [])).toEqual([]);
  expect(service.cli('alarms')).toContain('Muted, and back by themselves:');
  await page.goto(`${service.url}/console`);
  await expect(page.getByTestId('alarms-by-severity')).toContainText('1 muted');
  await page.goto(`${service.url}/console/alarms`);
  await muted.getByRole('button', { name: 'Unmute' }).click();
  await expect(page.getByTestId('muted')).toHaveCount(0);
  service.cli('alarms', 'unacknowledge', 'job.damaged:job-000001');
  await expect(row).toBeVisible();
});

test('nothing is green while no subnet is connected', async ({ page }) => {
  const quiet = new Service();
  try {
    await quiet.start();
    quiet.importFabric();
    await page.goto(`${quiet.url}/console`);
    const needs = page.locator('section', { hasText: 'Needs a person' }).first();
    await expect(needs).toContainText('No subnet is connected, so cables are not watched');
    await expect(needs.locator('.badge.ok')).toHaveCount(0);
  } finally {
    await quiet.stop();
  }
});
