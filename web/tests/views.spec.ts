// Every view in both themes: it shows real data, axe finds nothing serious, the browser reports no error and no breach of
// the Content-Security-Policy, and a screenshot is written to be looked at.
import { expect, test, type Page } from '@playwright/test';
import axe from 'axe-core';
import { Service } from './service';
import { go, settled, shots } from './shots';

const service = new Service();
test.beforeAll(async () => {
  await service.start();
  service.seed();
});
test.afterAll(async () => {
  await service.stop();
  service.remove();
});

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
    const all = shots(service);
    expect(all.length).toBeGreaterThan(20);
    const only = process.env.ONLY?.split(',');
    for (const shot of all) {
      if (only && !only.includes(shot.name)) continue;
      await go(page, service, shot.path);
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
