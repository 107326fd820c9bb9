// Lists of which only the beginning is in the browser: a filter asks the service, exports and prints say what they lack.
import { expect, test } from '@playwright/test';
import { readFileSync } from 'node:fs';
import { seededService } from './seeded';

const service = seededService();

test('a name beyond the beginning of a list is asked of the service', async ({ page }) => {
  test.setTimeout(120_000);
  const nodes = service.json<{ items: { id: string }[] }>('nodes', 'list').items.map((node) => node.id);
  const last = nodes.at(-1)!;
  const link = service.json<{ items: { id: string }[] }>('links', 'list', '--node', last, '--kind', 'infiniband').items[0]!.id;
  // As of a fabric of which the browser gets 20,000 links: pages that never come to an end, with the first ten alone in them.
  await page.route(/\/v1\/links\?.*limit=10000/, async (route) => {
    const answer = await route.fetch();
    const page_ = (await answer.json()) as { items: unknown[]; nextCursor: string | null };
    const ten = page_.items.slice(0, 10);
    await route.fulfill({ response: answer, json: { ...page_, items: Array.from({ length: 20_000 }, (_, i) => ({ ...(ten[i % 10] as object), id: `${i}` })), nextCursor: 'more' } });
  });
  await page.goto(`${service.url}/console/fabric?view=links`);
  await expect(page.locator('#main')).toContainText('the first 20,000 links; a filter asks the service for others');
  await expect(page.getByRole('button', { name: 'CSV of the first 20,000' })).toBeVisible();
  await page.getByLabel('Filter links').fill(last);
  await expect(page.locator('tr', { hasText: link })).toBeVisible();
  await page.getByLabel('Filter links').fill('no-such-name');
  await expect(page.locator('#main')).toContainText('Nothing matches “no-such-name”, here or at the service');
});

test('a printed table has its rows, those beyond the window too', async ({ page }) => {
  test.setTimeout(120_000);
  await page.goto(`${service.url}/console/jobs/job-000001?tab=ranks`);
  await expect(page.locator('tbody tr').first()).toBeVisible();
  await page.goto(`${service.url}/console/fabric?view=domains`);
  await page.route(/\/v1\/nodes\?/, async (route) => {
    const answer = await route.fetch();
    const page_ = (await answer.json()) as { items: object[] };
    await route.fulfill({ response: answer, json: { ...page_, items: Array.from({ length: 6000 }, (_, i) => ({ ...page_.items[0], id: `node-${i}` })) } });
  });
  await page.goto(`${service.url}/console/fabric?view=nodes`);
  await expect(page.locator('#main')).toContainText('6,000');
  expect(await page.locator('tbody tr').count()).toBeLessThan(200);
  await page.evaluate(() => window.dispatchEvent(new Event('beforeprint')));
  expect(await page.locator('tbody tr').count()).toBe(5000);
  await expect(page.locator('.print-note')).toContainText('the first 5,000 of 6,000 lines');
  await page.evaluate(() => window.dispatchEvent(new Event('afterprint')));
  await expect.poll(() => page.locator('tbody tr').count()).toBeLessThan(200);
  const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'CSV' }).click()]);
  expect(readFileSync(await file.path(), 'utf8').trim().split('\n')).toHaveLength(6001);
});
