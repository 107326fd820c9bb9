// 100,000 GPUs in the browser (SCALE=1; a minute): how long until the map is seen, how much it holds at every level, what
// a frame costs the main thread, and that the lists and a second open page stay usable. Frames a second are not measured:
// this runs without a GPU.
import { expect, test } from '@playwright/test';
import { join } from 'node:path';
import { MAX_PRIMITIVES } from '../src/model/map_draw';
import { Service } from './service';

test('100,000 GPUs', async ({ page }) => {
  test.skip(process.env.SCALE !== '1', 'SCALE=1 runs it');
  test.setTimeout(400_000);
  const service = new Service();
  try {
    await service.start();
    const file = join(service.folder, 'big.json');
    service.cli('lab', 'generate', 'gpus-100k', '-O', file);
    service.cli('fabric', 'import', file);
    service.cli('tenants', 'set', 'research');
    service.cli('jobs', 'submit', '--tenant', 'research', '--tp', '8', '--pp', '16', '--dp', '64');
    const answers: string[] = [];
    page.on('response', async (response) => {
      if (response.url().includes('/v1/fabric/map')) answers.push(`${(await response.body()).length} bytes`);
    });
    const rendered = () => page.waitForFunction(() => Number(document.querySelector<HTMLElement>('[data-testid=map]')?.dataset.rendered) > 0, undefined, { timeout: 60_000 });
    const drawn = () => page.getByTestId('map').evaluate((map) => ({ primitives: Number(map.dataset.primitives), frameMs: Number(map.dataset.frameMs) }));
    const figures: Record<string, unknown> = {};

    let started = performance.now();
    await page.goto(`${service.url}/console/fabric`);
    await rendered();
    figures.firstViewMs = Math.round(performance.now() - started);
    figures.regions = await drawn();
    await page.screenshot({ path: 'screenshots/scale-regions.png' });
    expect((await drawn()).primitives).toBeLessThanOrEqual(MAX_PRIMITIVES);

    const region = await page.getByLabel('Region').locator('option').nth(1).textContent();
    started = performance.now();
    await page.goto(`${service.url}/console/fabric?within=${encodeURIComponent(region!)}`);
    await rendered();
    figures.regionMs = Math.round(performance.now() - started);
    figures.region = await drawn();
    await page.screenshot({ path: 'screenshots/scale-region.png' });
    expect((await drawn()).primitives).toBeLessThanOrEqual(MAX_PRIMITIVES);
    await page.getByTestId('map').focus();
    for (const key of ['+', '+', '+', '+', '+', '+']) await page.keyboard.press(key);
    figures.near = await drawn();

    for (const [name, path, text] of [['overview', '', 'Switches'], ['nodes', '/fabric?view=nodes', '12,800'], ['ranks', '/jobs/job-000001?tab=ranks', '8,192']] as const) {
      started = performance.now();
      await page.goto(`${service.url}/console${path}`);
      await expect(page.locator('#main')).toContainText(text, { timeout: 60_000 });
      figures[`${name}Ms`] = Math.round(performance.now() - started);
    }
    figures.heapMB = Math.round(await page.evaluate(() => (performance as unknown as { memory: { usedJSHeapSize: number } }).memory.usedJSHeapSize / 1e6));
    figures.answers = answers;
    console.log(JSON.stringify(figures));
  } finally {
    await service.stop();
    service.remove();
  }
});
