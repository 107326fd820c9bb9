// A service that knows nothing yet: every view says so, and none breaks. And a tablet's width: nothing is wider than it.
import { expect, test } from '@playwright/test';
import { serious } from './axe';
import { Service } from './service';

test('every view is empty before the first import', async ({ page }) => {
  const service = new Service();
  const broken: string[] = [];
  page.on('pageerror', (error) => broken.push(`${page.url()}: ${error.message}`));
  page.on('console', (message) => {
    if (message.type() === 'error' && message.text().includes('Content Security Policy')) broken.push(message.text());
  });
  await page.setViewportSize({ width: 820, height: 1180 });
  try {
    await service.start();
    const views: [string, string][] = [
      ['', 'this service knows no fabric yet'], ['/fabric', 'No fabric is known yet'], ['/fabric?view=nodes', 'Nothing here'], ['/fabric?view=subnets', 'No subnet is known'],
      ['/fabric?view=findings', 'Nothing is wrong'], ['/path', 'No fabric is known yet'], ['/jobs', 'No job has been submitted'], ['/queue', 'No job waits'], ['/queue?tab=reservations', 'Nothing is set aside'],
      ['/submit', 'There are no GPUs to place on'], ['/tenants', 'There are no tenants'], ['/guarantees', 'No job has a guarantee'], ['/drains', 'Nothing is drained'],
      ['/drain', 'Name what is to be taken'], ['/alarms', 'Nothing is wrong'], ['/events', 'Nothing happened yet'], ['/planning', 'Name links or switches'], ['/nothing', 'There is no such view'],
    ];
    for (const [path, text] of views) {
      await page.goto(`${service.url}/console${path}`);
      await expect(page.locator('#main')).toContainText(text);
      expect(await page.evaluate(() => document.documentElement.scrollWidth), path).toBeLessThanOrEqual(820);
    }
    await page.goto(`${service.url}/console`);
    await expect(page.getByTestId('first-steps')).toContainText('railweave fabric import');
    await expect(page.locator('.problem')).toHaveCount(0);
    expect(await serious(page, [])).toEqual([]);
    expect(broken).toEqual([]);
  } finally {
    await service.stop();
  }
});
