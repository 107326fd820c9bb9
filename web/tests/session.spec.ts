// Tokens hold over tabs, and what was typed survives the end of a session; another user finds nothing of it.
import { expect, test, type Page } from '@playwright/test';
import { Service } from './service';

const service = new Service();
test.beforeAll(async () => {
  service.authentication = 'tokens';
  await service.start();
  service.cli('tenants', 'set', 'research');
});
test.afterAll(async () => {
  await service.stop();
});

const form = (page: Page) => page.getByRole('form', { name: 'Sign in' });
async function enter(page: Page, token: string) {
  await form(page).locator('input').fill(token);
  await form(page).getByRole('button', { name: 'Sign in' }).click();
}

test('a new tab is signed in as the others are, and out with them', async ({ page, context }) => {
  await page.goto(`${service.url}/console`);
  await enter(page, service.issue('olga', 'operator'));
  await expect(page.getByTestId('caller')).toHaveText('olga, operator');
  const second = await context.newPage();
  await second.goto(`${service.url}/console/jobs`);
  await expect(second.getByTestId('caller')).toHaveText('olga, operator');
  expect(await second.evaluate(() => JSON.stringify({ ...localStorage }))).not.toContain('rw_');
  await page.getByRole('button', { name: 'Sign out' }).click();
  await expect(form(second)).toBeVisible();
  await expect(second.getByRole('navigation')).toHaveCount(0);
});

test('what was typed is there again after the session has ended, for its owner alone', async ({ page }) => {
  const first = service.json<{ id: string; token: string }>('tokens', 'issue', 'ana', '--role', 'operator');
  await page.goto(`${service.url}/console/submit`);
  await enter(page, first.token);
  await page.getByLabel('Name', { exact: true }).fill('typed-before-the-end');
  service.cli('tokens', 'revoke', first.id);
  await expect(form(page)).toBeVisible({ timeout: 30_000 });
  await expect(page.getByText('What you typed is kept')).toBeVisible();
  await page.screenshot({ path: 'screenshots/session-ended.png' });
  await enter(page, service.issue('ana', 'operator'));
  await expect(page.getByTestId('caller')).toHaveText('ana, operator');
  await expect(page.getByLabel('Name', { exact: true })).toHaveValue('typed-before-the-end');
});
