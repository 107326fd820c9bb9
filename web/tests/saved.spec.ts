// Saved views: a name for what is looked at, in the address, so that it can be shared, and remembered by the browser. Plots of
// the queue beside them: axes with units and times.
import { expect, test } from '@playwright/test';
import { serious } from './axe';
import { seededService } from './seeded';

const service = seededService();

test('a view is saved by a name, opened again, shared and forgotten', async ({ page, browser }) => {
  await page.goto(`${service.url}/console/jobs?jobs.q=llama`);
  await page.getByRole('button', { name: 'Saved views' }).click();
  await page.getByLabel('Save what is shown now as').fill('Llamas');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await expect(page.getByTestId('view-bar')).toContainText('View Llamas');
  await expect(page).toHaveURL(/saved=Llamas/);
  const shared = page.url();
  await page.goto(`${service.url}/console`);
  await page.getByRole('button', { name: 'Saved views' }).click();
  await page.screenshot({ path: 'screenshots/saved-views.png', animations: 'disabled' });
  expect(await serious(page, [])).toEqual([]);
  await page.getByRole('link', { name: 'Llamas' }).click();
  await expect(page).toHaveURL(shared);
  await expect(page.locator('tbody tr')).toHaveCount(1);
  await page.getByLabel('Filter jobs').fill('serving');
  await expect(page.getByTestId('view-bar')).toContainText('changed');
  await page.getByRole('button', { name: 'Save the change' }).click();
  await expect(page.getByTestId('view-bar')).not.toContainText('changed');

  // Who is sent the link sees the same under the same name, and can remember it.
  const other = await (await browser.newContext()).newPage();
  await other.goto(shared);
  await expect(other.locator('tbody tr')).toHaveCount(1);
  await other.getByTestId('view-bar').getByRole('button', { name: 'Remember it' }).click();
  await expect(other.getByTestId('view-bar').getByRole('button', { name: 'Forget it' })).toBeVisible();
  await other.context().close();
  await page.getByTestId('view-bar').getByRole('button', { name: 'Forget it' }).click();
  await page.getByTestId('view-bar').getByRole('button', { name: 'Close' }).click();
  await expect(page.getByTestId('view-bar')).toHaveCount(0);
  await page.getByRole('button', { name: 'Saved views' }).click();
  await expect(page.getByRole('dialog')).toContainText('No view is saved');
});

test('the queue and GPUs over time have axes', async ({ page }) => {
  await page.goto(`${service.url}/console/queue`);
  const plots = page.getByTestId('work-plot').getByTestId('plot');
  await expect(plots).toHaveCount(2);
  await expect(plots.first().locator('svg')).toContainText(/\d\d:\d\d/);
  await expect(plots.nth(1).getByRole('img')).toHaveAttribute('aria-label', /GPUs; Held: \d+ at last/);
  await page.getByLabel('How long ago').selectOption('A week');
  await expect(plots.first().locator('svg')).toContainText(/\d\d-\d\d/);
  await plots.first().locator('svg').hover();
  await expect(plots.first().locator('figcaption')).toContainText(/\d{4}-\d\d-\d\d/);
  await page.screenshot({ path: 'screenshots/queue-plots.png' });
  expect(await serious(page, [])).toEqual([]);
});
