// 100,000 GPUs in the browser (SCALE=1; a minute): how long until the map is seen, how much it holds at every level, what
// a frame costs the main thread, that the lists stay usable, and what an hour of events, in a minute, leaves in memory. Frames
// a second are not measured: this runs without a GPU.
import { expect, test, type Page } from '@playwright/test';
import { join } from 'node:path';
import { MAX_PRIMITIVES } from '../src/model/map/draw';
import { Service } from './service';

// 3,600 events in a minute, one a second's worth of an hour: jobs come and go while the map is open. Heap before and after, both
// after a collection of garbage, and the share of the minute that the page's main thread was busy.
async function anHourOfEvents(page: Page, service: Service) {
  await page.goto(`${service.url}/console/fabric`);
  await page.waitForFunction(() => Number(document.querySelector<HTMLElement>('[data-testid=map]')?.dataset.rendered) > 0);
  await expect(page.getByText(/^live ·/)).toBeVisible();
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable');
  const heapMB = async () => {
    await session.send('HeapProfiler.collectGarbage');
    return Math.round(((await session.send('Runtime.getHeapUsage')) as { usedSize: number }).usedSize / 1e6);
  };
  const busyS = async () => (await session.send('Performance.getMetrics')).metrics.find(({ name }) => name === 'TaskDuration')!.value;
  const seq = async () => ((await (await fetch(`${service.url}/v1/fabric`)).json()) as { seq: number }).seq;
  const before = { heap: await heapMB(), busy: await busyS(), seq: await seq() };
  let asked = 0;
  page.on('request', () => (asked += 1));
  const started = performance.now();
  for (let at = 0; (await seq()) < before.seq + 3600; at += 1) {
    const job = (await (await fetch(`${service.url}/v1/jobs`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ tenant: 'research', gpus: 8 }) })).json()) as { id: string };
    await fetch(`${service.url}/v1/jobs/${job.id}`, { method: 'DELETE' });
    const due = started + at * (60_000 / 1800); // two events each
    if (performance.now() < due) await new Promise((done) => setTimeout(done, due - performance.now()));
  }
  const tookS = (performance.now() - started) / 1000;
  const last = await seq();
  await expect(page.getByText(`live · ${last.toLocaleString('en-US').replaceAll(',', '')}`)).toBeVisible();
  const after = { heap: await heapMB(), busy: await busyS() };
  expect(after.heap).toBeLessThan(before.heap + 60);
  return { events: last - before.seq, tookS: Math.round(tookS), heapBeforeMB: before.heap, heapAfterMB: after.heap, busyPercent: Math.round((100 * (after.busy - before.busy)) / tookS), requests: asked };
}

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
      if (answers.length < 2 && response.url().includes('/v1/fabric/map')) answers.push(`${(await response.body()).length} bytes`);
    });
    const rendered = () => page.waitForFunction(() => Number(document.querySelector<HTMLElement>('[data-testid=map]')?.dataset.rendered) > 0, undefined, { timeout: 60_000 });
    const drawn = () => page.getByTestId('map').evaluate((map) => ({ primitives: Number(map.dataset.primitives), calls: Number(map.dataset.calls), frameMs: Number(map.dataset.frameMs) }));
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
    const frames = async () => Number(await page.getByTestId('map').getAttribute('data-rendered'));
    const zooms: unknown[] = [];
    for (let step = 1; step <= 12; step += 1) {
      const before = await frames();
      await page.keyboard.press('+');
      await expect.poll(frames).toBeGreaterThan(before);
      const at = await drawn();
      expect(at.primitives).toBeLessThanOrEqual(MAX_PRIMITIVES);
      zooms.push([Number((1.3 ** step).toFixed(1)), at.primitives, at.calls, at.frameMs]);
    }
    figures.zooms = zooms;

    for (const [name, path, text] of [['overview', '', 'Switches'], ['nodes', '/fabric?view=nodes', '12,800'], ['ranks', '/jobs/job-000001?tab=ranks', '8,192']] as const) {
      started = performance.now();
      await page.goto(`${service.url}/console${path}`);
      await expect(page.locator('#main')).toContainText(text, { timeout: 60_000 });
      figures[`${name}Ms`] = Math.round(performance.now() - started);
    }
    figures.heapMB = Math.round(await page.evaluate(() => (performance as unknown as { memory: { usedJSHeapSize: number } }).memory.usedJSHeapSize / 1e6));
    figures.answers = answers;
    figures.hour = await anHourOfEvents(page, service);
    console.log(JSON.stringify(figures));
  } finally {
    await service.stop();
  }
});
