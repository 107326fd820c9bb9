// Planning on fabrics that do not exist: generated, uploaded and the present one; jobs placed, a switch failed, plans
// compared. Nothing of it touches the live fabric.
import { expect, test } from '@playwright/test';
import axe from 'axe-core';
import { Service } from './service';

const service = new Service();
test.beforeAll(async () => {
  await service.start();
  service.importFabric();
});
test.afterAll(async () => {
  await service.stop();
});

test('fabrics are generated, uploaded, failed and compared', async ({ page }) => {
  const before = service.json<{ seq: number }>('fabric', 'show').seq;
  const complaints: string[] = [];
  page.on('console', (message) => { if (message.type() === 'error' && !message.text().includes('400')) complaints.push(message.text()); });
  await page.goto(`${service.url}/console/planning?tab=lab`);
  const main = page.locator('#main');
  const figure = (name: string, plan: number) => page.getByTestId('plans').locator('tr', { has: page.getByText(name, { exact: true }) }).locator('td').nth(plan);
  await page.getByLabel('Parameters').fill('hosts=16 rails=4 radix=32 down-ports=8 uplinks=4 spines=4');
  await page.getByRole('textbox', { name: 'Jobs' }).fill('8x1x8 8x1x16 8x1x1');
  await page.getByRole('button', { name: 'Plan', exact: true }).click();
  await expect(figure('GPUs', 1)).toHaveText('128');
  await expect(figure('Jobs that fit', 1)).toHaveText('2'); // 64 and 8 of 128: 128 beside them do not fit
  await expect(figure('GPUs left free', 1)).toHaveText('56');

  // The same with a leaf gone, named by a click on the map or by hand.
  await page.getByLabel('Switches that fail').fill('leaf-u1-r0');
  await page.getByRole('button', { name: 'Plan', exact: true }).click();
  await expect(page.getByTestId('plans').locator('thead th')).toHaveCount(3);
  await expect(figure('Ports cut off by the failure', 1)).toHaveText('–');
  expect(Number(await figure('Ports cut off by the failure', 2).textContent())).toBeGreaterThan(0);
  await expect(main).toContainText('After the failure');
  await page.waitForFunction(() => Number(document.querySelector<HTMLElement>('[data-testid=map]')?.dataset.primitives) > 0);
  await page.screenshot({ path: 'screenshots/planning-compared.png', fullPage: true, animations: 'disabled' });
  await page.evaluate(axe.source);
  const serious = await page.evaluate(async () => (await (window as unknown as { axe: { run: () => Promise<{ violations: { id: string; impact: string }[] }> } }).axe.run()).violations.filter((one) => one.impact === 'serious' || one.impact === 'critical').map((one) => one.id));
  expect(serious).toEqual([]);

  // A file: what another machine generated, and one that is none.
  const file = `${service.folder}/other.json`;
  service.cli('lab', 'generate', 'fat-tree', '--hosts', '8', '-O', file);
  await page.getByRole('combobox', { name: 'Fabric', exact: true }).selectOption('file');
  await expect(page.getByRole('button', { name: 'Plan', exact: true })).toBeDisabled();
  await page.getByLabel('File of a fabric').setInputFiles(file);
  await page.getByLabel('Switches that fail').fill('');
  await page.getByRole('button', { name: 'Plan', exact: true }).click();
  await expect(figure('GPUs', 3)).toHaveText('64');
  await page.getByLabel('File of a fabric').setInputFiles({ name: 'none.txt', mimeType: 'text/plain', buffer: Buffer.from('this is no fabric') });
  await page.getByRole('button', { name: 'Plan', exact: true }).click();
  await expect(page.getByRole('alert')).toContainText('lab.badFabric');

  // The present one: as it is today, beside the others.
  await page.getByRole('combobox', { name: 'Fabric', exact: true }).selectOption('present');
  await page.getByRole('button', { name: 'Plan', exact: true }).click();
  await expect(figure('GPUs', 4)).toHaveText('128');
  expect(service.json<{ items: unknown[] }>('jobs', 'list').items).toEqual([]);
  expect(service.json<{ seq: number }>('fabric', 'show').seq).toBe(before);
  expect(complaints).toEqual([]);
});
