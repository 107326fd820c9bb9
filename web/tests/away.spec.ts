// The service is away, restarts, or something else answers in its place: the page stays, says so, and goes on by itself.
import { expect, test } from '@playwright/test';
import { seededService } from './seeded';

const service = seededService();

test('a view that was never opened is there while the service is not, and fills by itself', async ({ page }) => {
  test.setTimeout(90_000);
  await page.goto(`${service.url}/console/jobs`);
  await expect(page.locator('#main')).toContainText('llama-70b');
  await page.waitForTimeout(2000); // the code of the other views is loaded behind the first
  await service.stop();
  await expect(page.getByText('The service does not answer: what you see may be stale')).toBeVisible();
  await page.getByRole('navigation').getByRole('link', { name: 'Tenants' }).click();
  await expect(page.locator('#main')).toContainText('The service does not answer', { timeout: 20_000 });
  await expect(page.getByRole('navigation')).toBeVisible();
  await page.screenshot({ path: 'screenshots/away-tenants.png' });
  await service.start();
  await expect(page.locator('#main')).toContainText('research', { timeout: 30_000 });
  await expect(page.getByText(/^live ·/)).toBeVisible({ timeout: 30_000 });
});

test('code that cannot be loaded is asked for again, within the frame', async ({ page }) => {
  await page.route('**/assets/planning-*', (route) => route.abort());
  await page.goto(`${service.url}/console`);
  await expect(page.getByText(/^live ·/)).toBeVisible();
  await page.route('**/readyz', (route) => route.abort());
  await page.getByRole('navigation').getByRole('link', { name: 'Planning' }).click();
  await expect(page.locator('#main')).toContainText('opens by itself');
  await page.unroute('**/readyz');
  await expect(page.locator('#main')).toContainText('The console was updated'); // the service is there, the file is not
  await page.unroute('**/assets/planning-*');
  await expect(page.locator('#main')).toContainText('Name links or switches');
  expect(page.url()).toContain('/console/planning');
});

test('addresses with a slash at the end are the same views', async ({ page }) => {
  for (const [path, shown] of [['/console/', 'Needs a person'], ['/console/jobs/', 'llama-70b']] as const) {
    const answer = await page.goto(service.url + path);
    expect(answer?.status(), path).toBe(200);
    await expect(page.locator('#main')).toContainText(shown);
  }
  await page.goto(`${service.url}/console/jobs`);
  await page.getByRole('link', { name: 'Railweave, overview' }).click();
  await expect(page.locator('#main')).toContainText('Needs a person');
  expect((await page.reload())?.status()).toBe(200);
  await expect(page.locator('#main')).toContainText('Needs a person');
});

test('a page opened while nothing answers recovers by itself', async ({ page }) => {
  test.setTimeout(90_000);
  await page.route('**/v1/**', (route) => route.abort());
  await page.goto(`${service.url}/console/jobs`);
  await expect(page.getByText('tries again by itself')).toBeVisible({ timeout: 30_000 });
  await page.unroute('**/v1/**');
  await expect(page.locator('#main')).toContainText('llama-70b', { timeout: 30_000 });
});

test('an answer that is not JSON is said to be none of the service', async ({ page }) => {
  test.setTimeout(90_000);
  await page.route('**/v1/tenants?*', (route) => route.fulfill({ status: 200, contentType: 'text/html', body: '<h1>Log in to the network</h1>' }));
  await page.goto(`${service.url}/console/tenants`);
  await expect(page.locator('#main')).toContainText('/v1/tenants was answered with status 200 and text/html', { timeout: 30_000 });
  await expect(page.locator('#main')).toContainText('a proxy between this page and the service');
});
