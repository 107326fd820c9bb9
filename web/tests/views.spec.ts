// Every view in both themes: it shows real data, axe finds nothing serious, the browser reports no error and no breach of
// the Content-Security-Policy, and a screenshot is written to be looked at.
import { expect, test } from '@playwright/test';
import { serious } from './axe';
import { seededService } from './seeded';
import { go, settled, shots } from './shots';

const service = seededService();

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
