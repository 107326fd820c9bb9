// A tablet held upright: every view fits its width. Screenshots of a few, in turn light and dark.
import { expect, test } from '@playwright/test';
import { Service } from './service';
import { go, settled, shots } from './shots';

const WIDTH = 820;
const SHOWN = ['overview', 'fabric-map', 'job', 'queue', 'guarantees', 'drain', 'submit'];

test('every view fits a tablet', async ({ browser }) => {
  test.setTimeout(150_000);
  const service = new Service();
  try {
    await service.start();
    service.seed();
    const page = await (await browser.newContext({ viewport: { width: WIDTH, height: 1180 }, colorScheme: 'dark', timezoneId: 'UTC' })).newPage();
    const wide: string[] = [];
    const all = shots(service);
    expect(all.length).toBeGreaterThan(20);
    for (const shot of all) {
      await go(page, service, shot.path);
      await expect(page.locator('#main')).toContainText(shot.shows);
      const width = await page.evaluate(() => Math.max(document.documentElement.scrollWidth, document.querySelector('#main')!.scrollWidth + document.querySelector('.nav')!.clientWidth));
      if (width > WIDTH + 2) wide.push(`${shot.name}: ${width} px`);
      if (!SHOWN.includes(shot.name)) continue;
      await settled(page);
      await page.emulateMedia({ colorScheme: SHOWN.indexOf(shot.name) % 2 === 0 ? 'dark' : 'light' });
      await page.screenshot({ path: `screenshots/tablet-${shot.name}.png`, animations: 'disabled' });
    }
    expect(wide, 'wider than a tablet').toEqual([]);
  } finally {
    await service.stop();
  }
});
