// A service that asks for tokens: the console asks too, shows nothing before, and asks again once the token ends.
import { expect, test } from '@playwright/test';
import { readFileSync } from 'node:fs';
import { Service } from './service';

const service = new Service();

test.beforeAll(async () => {
  service.authentication = 'tokens';
  await service.start();
});
test.afterAll(async () => {
  await service.stop();
});

test('asks for a token, refuses a wrong one, and asks again when it is revoked', async ({ page }) => {
  const first = readFileSync(`${service.store}.admin-token`, 'utf8').trim();
  await page.goto(`${service.url}/console`);
  const form = page.getByRole('form', { name: 'Sign in' });
  await expect(form).toBeVisible();
  await expect(page.getByRole('navigation')).toHaveCount(0);
  await page.screenshot({ path: 'screenshots/sign-in.png' });
  await form.locator('input').fill(`${first.slice(0, -1)}!`);
  await form.getByRole('button', { name: 'Sign in' }).click();
  await expect(page.getByRole('main')).toContainText('not known');
  const issued = service.json<{ id: string; token: string }>('tokens', 'issue', 'wall', '--role', 'viewer');
  await form.locator('input').fill(issued.token);
  await form.getByRole('button', { name: 'Sign in' }).click();
  await expect(page.getByRole('navigation').first()).toBeVisible();
  await page.reload(); // the tab keeps it
  await expect(page.getByRole('navigation').first()).toBeVisible();
  expect(await page.evaluate(() => JSON.stringify({ ...localStorage }))).not.toContain(issued.token);
  service.cli('tokens', 'revoke', issued.id);
  await page.reload();
  await expect(page.getByRole('main')).toContainText('not known');
});

test('signs out, and another who signs in sees nothing of what was there', async ({ page }) => {
  service.cli('tenants', 'set', 'before-the-change');
  await page.goto(`${service.url}/console/events`);
  const form = page.getByRole('form', { name: 'Sign in' });
  const enter = async (token: string) => {
    await form.locator('input').fill(token);
    await form.getByRole('button', { name: 'Sign in' }).click();
  };
  await enter(service.issue('olga', 'operator'));
  await expect(page.getByTestId('caller')).toHaveText('olga, operator');
  await expect(page.locator('#main')).toContainText('before-the-change');
  await page.getByRole('button', { name: 'Sign out' }).click();
  await expect(form).toBeVisible();
  expect(await page.evaluate(() => JSON.stringify({ ...sessionStorage }))).not.toContain('rw_');
  service.cli('tenants', 'set', 'other');
  await enter(service.issue('mia', 'member', '--tenant', 'other'));
  await expect(page.getByTestId('caller')).toHaveText('mia, member of other');
  await expect(page.getByText(/^live ·/)).toBeVisible();
  await expect(page.locator('#main')).not.toContainText('before-the-change');
});
