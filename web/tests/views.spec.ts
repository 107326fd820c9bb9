// Every view in both themes: it shows real data, axe finds nothing serious, the browser reports no error and no breach of
// the Content-Security-Policy, and a screenshot is written to be looked at.
import { expect, test, type Page } from '@playwright/test';
import axe from 'axe-core';
import { Service } from './service';

const service = new Service();
test.beforeAll(async () => {
  await service.start();
  service.seed();
});
test.afterAll(async () => {
  await service.stop();
  service.remove();
});

interface Shot {
  name: string;
  path: string;
  shows: string | RegExp; // text that only real data gives
}

const first = (noun: string, ...args: string[]) => service.json<{ items: { id: string }[] }>(noun, 'list', ...args).items[0]!.id;

function shots(): Shot[] {
  const leaf = first('switches');
  const link = service.json<{ items: { id: string }[] }>('links', 'list', '--switch', leaf).items.at(-1)!.id;
  const nodes = service.json<{ items: { id: string }[] }>('nodes', 'list').items.map((node) => node.id);
  return [
    { name: 'overview', path: '', shows: 'queued' },
    { name: 'fabric-map', path: '/fabric', shows: 'in order' },
    { name: 'fabric-map-tenant', path: '/fabric?color=tenant', shows: 'research' },
    { name: 'fabric-links', path: '/fabric?view=links', shows: '96' },
    { name: 'fabric-nodes', path: '/fabric?view=nodes', shows: nodes[0]! },
    { name: 'fabric-subnets', path: '/fabric?view=subnets', shows: 'observe' },
    { name: 'switch', path: `/switches/${leaf}`, shows: 'Cabling' },
    { name: 'link', path: `/links/${link}`, shows: 'Reserved on it' },
    { name: 'node', path: `/nodes/${nodes[0]}`, shows: 'llama-70b' },
    { name: 'path', path: `/path?from=${nodes[0]}&to=${nodes[12]}`, shows: 'arrived' },
    { name: 'jobs', path: '/jobs', shows: 'llama-70b' },
    { name: 'job', path: '/jobs/job-000001', shows: 'llama-70b' },
    { name: 'job-ranks', path: '/jobs/job-000001?tab=ranks', shows: nodes[0]! },
    { name: 'job-waits', path: '/jobs/job-000004', shows: 'Waits' },
    { name: 'queue', path: '/queue', shows: 'greedy' },
    { name: 'queue-shares', path: '/queue?tab=shares', shows: 'research' },
    { name: 'queue-reservations', path: '/queue?tab=reservations', shows: 'firmware' },
    { name: 'submit', path: '/submit?tensor=8&data=2&tenant=research', shows: 'It fits' },
    { name: 'submit-refused', path: '/submit?tensor=8&data=15&tenant=research', shows: /Not now/ },
    { name: 'tenants', path: '/tenants', shows: 'product' },
    { name: 'tenant', path: '/tenants/product', shows: 'serving' },
    { name: 'guarantees', path: '/guarantees', shows: 'all-reduce' },
    { name: 'drains', path: '/drains', shows: 'power supply' },
    { name: 'drain', path: `/drain?kind=switch&id=${leaf}`, shows: 'table entries change' },
    { name: 'alarms', path: '/alarms', shows: 'Nothing is wrong' },
    { name: 'events', path: '/events', shows: 'llama-70b' },
    { name: 'planning', path: `/planning?switches=${service.json<{ items: { id: string; tier: number }[] }>('switches', 'list').items.find((sw) => sw.tier === 1)!.id}`, shows: 'entries change' },
  ];
}

// By the page's own history: a load for every view would take most of the run.
async function go(page: Page, path: string) {
  if (page.url() === 'about:blank') {
    await page.goto(`${service.url}/console${path}`);
    return;
  }
  await page.evaluate((to) => {
    history.pushState({}, '', to);
    dispatchEvent(new PopStateEvent('popstate'));
  }, `/console${path}`);
  await expect(page.locator('#main')).toHaveAttribute('data-path', path.split('?')[0] || '/');
}

// What axe finds serious or critical. Rules: all of WCAG 2.1 A and AA, or only some: most do not depend on the theme.
async function serious(page: Page, rules: string[]): Promise<string[]> {
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(axe.source);
  return page.evaluate(async (only) => {
    const { axe: inPage } = window as unknown as { axe: { run: (where: Document, options: unknown) => Promise<{ violations: { id: string; impact: string; nodes: { target: string[]; any: { message: string }[] }[] }[] }> } };
    const runOnly = only.length > 0 ? { type: 'rule', values: only } : { type: 'tag', values: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa'] };
    const { violations } = await inPage.run(document, { runOnly, resultTypes: ['violations'] });
    return violations
      .filter((violation) => violation.impact === 'serious' || violation.impact === 'critical')
      .map((violation) => `${violation.id}: ${violation.nodes.slice(0, 3).map((node) => `${node.target.join(' ')} ${node.any[0]?.message ?? ''}`).join(' | ')}`);
  }, rules);
}

async function settled(page: Page) {
  await expect(page.locator('[aria-label=Loading]')).toHaveCount(0);
  await expect(page.getByText(/^live ·/)).toBeVisible();
  if (await page.getByTestId('map').count()) await page.waitForFunction(() => Number(document.querySelector<HTMLElement>('[data-testid=map]')?.dataset.primitives) > 0);
}

for (const theme of ['dark', 'light'] as const) {
  test(`every view, ${theme}`, async ({ browser }) => {
    test.setTimeout(150_000);
    const context = await browser.newContext({ colorScheme: theme, viewport: { width: 1280, height: 800 }, timezoneId: 'UTC' });
    const page = await context.newPage();
    const complaints: string[] = [];
    page.on('console', (message) => {
      if (message.type() === 'error') complaints.push(`${page.url()}: ${message.text()}`);
    });
    page.on('pageerror', (error) => complaints.push(`${page.url()}: ${error.message}`));
    const found: string[] = [];
    const all = shots();
    expect(all.length).toBeGreaterThan(20);
    const only = process.env.ONLY?.split(',');
    for (const shot of all) {
      if (only && !only.includes(shot.name)) continue;
      await go(page, shot.path);
      await expect(page.locator('#main')).toContainText(shot.shows);
      await settled(page);
      await page.screenshot({ path: `screenshots/${shot.name}-${theme}.png`, animations: 'disabled' });
      if (process.env.AXE === '0') continue;
      for (const violation of await serious(page, theme === 'dark' ? [] : ['color-contrast'])) found.push(`${shot.name} ${theme}: ${violation}`);
    }
    await context.close();
    expect(found, 'axe').toEqual([]);
    expect(complaints, 'errors of the browser').toEqual([]);
  });
}
