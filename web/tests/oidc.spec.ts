// Signing in with an identity provider, by redirect: a real provider on a loopback port, its own pages, and the service that
// verifies what it signs. Roles come from its claims.
import { expect, test, type Page } from '@playwright/test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { IdentityProvider } from './provider';
import { Service } from './service';

const AUDIENCE = 'urn:railweave';
const provider = new IdentityProvider(
  {
    olga: { roles: ['cluster-operators', 'staff'], renewable: true },
    mia: { roles: ['researchers'], tenant: 'research' },
    nick: { roles: ['visitors'] },
  },
  AUDIENCE,
);
const service = new Service();

test.beforeAll(async () => {
  await provider.listen();
  const keys = join(service.folder, 'keys.json');
  writeFileSync(keys, provider.keys);
  service.authentication = 'tokens';
  service.config = `[access.oidc]\nissuer = "${provider.issuer}"\naudience = "${AUDIENCE}"\nkeys = "${keys}"\nclient_id = "console"\nresource = "${AUDIENCE}"\n[access.oidc.roles]\ncluster-operators = "operator"\nresearchers = "member"\n`;
  await service.start();
  provider.serve(service.url);
  service.seed();
});
test.beforeEach(async ({ context }) => {
  await context.route((url) => url.hostname !== '127.0.0.1', (route) => route.abort()); // fonts of the provider's pages
  provider.tokenSeconds = 600;
  provider.grants.length = 0;
});
test.afterAll(async () => {
  await service.stop();
  await provider.stop();
});

const button = (page: Page) => page.getByRole('button', { name: `Sign in with ${new URL(provider.issuer).host}` });

// On the provider's own pages: who it is, and that the console may know.
async function enter(page: Page, name: string) {
  await button(page).click();
  await page.waitForURL((url) => url.origin === provider.issuer);
  await page.locator('input[name=login]').fill(name);
  await page.locator('input[name=password]').fill('any');
  await page.locator('button[type=submit]').click();
  await page.getByRole('button', { name: /continue/i }).click();
  await page.waitForURL((url) => url.origin === service.url);
}

test('signs in by redirect, with the role of a claim, and returns to the view that was asked for', async ({ page }) => {
  const breaches: string[] = [];
  page.on('console', (message) => message.text().includes('Content Security Policy') && breaches.push(message.text()));
  const asked = page.waitForRequest((request) => request.url().startsWith(`${provider.issuer}/auth?`));
  const first = await page.goto(`${service.url}/console/jobs?jobs.q=llama`);
  expect(first!.headers()['content-security-policy']).toContain(`connect-src 'self' ${provider.issuer};`);
  await expect(button(page)).toBeVisible();
  await page.screenshot({ path: 'screenshots/sign-in-oidc.png' });
  await enter(page, 'olga');
  const question = new URL((await asked).url()).searchParams;
  expect(question.get('code_challenge_method')).toBe('S256');
  expect(question.get('response_type')).toBe('code');
  for (const name of ['code_challenge', 'state', 'nonce']) expect(question.get(name)!.length, name).toBeGreaterThan(30);
  await expect(page.getByTestId('caller')).toHaveText('olga, operator');
  await expect(page).toHaveURL(`${service.url}/console/jobs?jobs.q=llama`);
  await expect(page.locator('#main')).toContainText('llama-70b');
  expect(provider.grants).toEqual(['authorization_code']);
  // Tokens end with the tab, and are in no other store; the code is not in its history.
  expect(await page.evaluate(() => Object.keys(localStorage).filter((key) => /token|session/.test(key)))).toEqual([]);
  expect(await page.evaluate(() => document.cookie)).toBe('');
  await page.goBack();
  expect(page.url()).not.toContain('code=');
  await page.goto(`${service.url}/console/drains`);
  await expect(page.getByTestId('caller')).toHaveText('olga, operator'); // kept over a reload
  expect(breaches).toEqual([]);
});

test('a member of a tenant sees its own, and one without a role nothing', async ({ page, browser }) => {
  await page.goto(`${service.url}/console`);
  await enter(page, 'mia');
  await expect(page.getByTestId('caller')).toHaveText('mia, member of research');
  await expect(page.getByRole('link', { name: 'Fabric', exact: true })).toHaveCount(0);
  const other = await (await browser.newContext()).newPage();
  await other.goto(`${service.url}/console`);
  await enter(other, 'nick');
  await expect(other.getByRole('main')).toContainText('gives no role here');
  await expect(other.getByRole('navigation')).toHaveCount(0);
  await other.context().close();
});

test('a session is renewed before it ends, without leaving the view', async ({ page }) => {
  provider.tokenSeconds = 4;
  await page.goto(`${service.url}/console`);
  await enter(page, 'olga');
  await expect(page.getByTestId('caller')).toHaveText('olga, operator');
  const before = await page.evaluate(() => sessionStorage.getItem('railweave.token'));
  await expect.poll(() => provider.grants.filter((grant) => grant === 'refresh_token').length, { timeout: 15_000 }).toBeGreaterThan(0);
  await expect.poll(() => page.evaluate(() => sessionStorage.getItem('railweave.token'))).not.toBe(before);
  await expect(page.getByTestId('caller')).toHaveText('olga, operator');
});

test('a session that cannot be renewed ends with a question, and goes on where it was', async ({ page }) => {
  provider.tokenSeconds = 5;
  await page.goto(`${service.url}/console`);
  await enter(page, 'mia');
  await page.getByRole('link', { name: 'Queue' }).click();
  await expect(page.getByRole('main')).toContainText('Your session has ended', { timeout: 15_000 });
  await page.screenshot({ path: 'screenshots/sign-in-ended.png' });
  provider.tokenSeconds = 600;
  const [apart] = await Promise.all([page.waitForEvent('popup'), button(page).click()]); // beside the page, which is kept
  await apart.getByRole('button', { name: /continue/i }).click(); // the provider still knows her
  await expect(page.getByTestId('caller')).toHaveText('mia, member of research');
  await expect(page).toHaveURL(`${service.url}/console/queue`);
  await expect.poll(() => apart.isClosed()).toBe(true);
});

test('what was typed survives the way to the provider and back', async ({ page }) => {
  provider.tokenSeconds = 6;
  await page.goto(`${service.url}/console`);
  await enter(page, 'mia'); // her sessions cannot be renewed
  await page.getByRole('link', { name: 'Submit, what if' }).click();
  await page.getByLabel('Name', { exact: true }).fill('typed-before-the-end');
  await expect(page.getByText('What you typed is kept')).toBeVisible({ timeout: 20_000 });
  provider.tokenSeconds = 600;
  const [apart] = await Promise.all([page.waitForEvent('popup'), button(page).click()]);
  await apart.getByRole('button', { name: /continue/i }).click();
  await expect(page.getByTestId('caller')).toHaveText('mia, member of research');
  await expect(page.getByLabel('Name', { exact: true })).toHaveValue('typed-before-the-end');
});

test('signs out here and at the provider', async ({ page }) => {
  await page.goto(`${service.url}/console`);
  await enter(page, 'olga');
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.waitForURL((url) => url.origin === provider.issuer);
  await page.getByRole('button', { name: /yes/i }).click();
  await page.waitForURL(`${service.url}/console`);
  await expect(button(page)).toBeVisible();
  expect(await page.evaluate(() => JSON.stringify({ ...sessionStorage }))).toBe('{}');
  await button(page).click();
  await expect(page.locator('input[name=login]')).toBeVisible(); // it asks again
});

test('an answer that was not asked for, or is of another state, is refused', async ({ page }) => {
  await page.goto(`${service.url}/console/signed-in?code=stolen&state=x&iss=${encodeURIComponent(provider.issuer)}`);
  await expect(page.getByRole('alert')).toContainText('did not ask');
  await expect(page).toHaveURL(`${service.url}/console`);
  await button(page).click();
  await page.waitForURL((url) => url.origin === provider.issuer);
  await page.goto(`${service.url}/console/signed-in?code=stolen&state=other&iss=${encodeURIComponent(provider.issuer)}`);
  await expect(page.getByRole('alert')).toContainText('state');
  expect(provider.grants).toEqual([]);
});
