// A service that asks for tokens: the console asks too, shows nothing before, and asks again once the token ends.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from '@playwright/test';
import { Service } from './service';

const service = new Service();
const cli = (...words: string[]) =>
  execFileSync(join(resolve(process.env.RAILWEAVE_BIN ?? '../build/release/bin'), 'railweave'), words, {
    env: { ...process.env, RAILWEAVE_URL: service.url, RAILWEAVE_TOKEN: first() },
    encoding: 'utf8',
  }).trim();
const first = () => readFileSync(join(service.folder, 'store.db.admin-token'), 'utf8').trim();

test.beforeAll(async () => {
  service.authentication = 'tokens';
  await service.start();
});
test.afterAll(async () => {
  await service.stop();
  service.remove();
});

test('asks for a token, refuses a wrong one, and asks again when it is revoked', async ({ page }) => {
  await page.goto(`${service.url}/console`);
  const form = page.getByRole('form', { name: 'Sign in' });
  await expect(form).toContainText('asks for a token');
  await expect(page.getByRole('navigation')).toHaveCount(0);
  await form.locator('input').fill(`${first().slice(0, -1)}!`);
  await form.getByRole('button', { name: 'Sign in' }).click();
  await expect(form).toContainText('not known');
  const issued = JSON.parse(cli('tokens', 'issue', 'wall', '--role', 'viewer', '-o', 'json')) as { id: string; token: string };
  await form.locator('input').fill(issued.token);
  await form.getByRole('button', { name: 'Sign in' }).click();
  await expect(page.getByRole('navigation').first()).toBeVisible();
  await page.reload(); // the tab keeps it
  await expect(page.getByRole('navigation').first()).toBeVisible();
  expect(await page.evaluate(() => JSON.stringify({ ...localStorage }))).not.toContain(issued.token);
  cli('tokens', 'revoke', issued.id);
  await page.reload();
  await expect(form).toContainText('not known');
});
