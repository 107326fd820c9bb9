// Counters of the past and errors, on a simulated subnet whose counters the test sets: the lines of a link and of a switch's
// ports, the map coloured by errors, and its load at an earlier moment.
import { expect, test, type Page } from '@playwright/test';
import axe from 'axe-core';
import type { FabricMap } from '../src/model/map/layout';
import { Ibsim, preload } from './ibsim';
import { Service } from './service';

const drawn = (page: Page) => page.waitForFunction(() => Number(document.querySelector<HTMLElement>('[data-testid=map]')?.dataset.rendered) > 0);
// Points of the map in about this colour of the theme.
const points = (page: Page, variable: string, most = 24) =>
  page.evaluate(({ name, off }) => {
    const canvas = document.querySelector<HTMLCanvasElement>('[data-testid=map]')!;
    const pen = document.createElement('canvas').getContext('2d')!;
    pen.fillStyle = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
    pen.fillRect(0, 0, 1, 1);
    const wanted = pen.getImageData(0, 0, 1, 1).data;
    const { data } = canvas.getContext('2d')!.getImageData(0, 0, canvas.width, canvas.height);
    let found = 0;
    for (let i = 0; i < data.length; i += 4) if ([0, 1, 2].every((c) => Math.abs(data[i + c]! - wanted[c]!) < off)) found += 1;
    return found;
  }, { name: variable, off: most });

test('a link is loaded and has errors: lines, the map by errors, and the map as it was', async ({ page }) => {
  const simulator = preload();
  test.skip(!simulator, 'libumad2sim.so is missing: ibsim-utils');
  test.setTimeout(150_000);
  const service = new Service();
  service.config = 'counter_history_seconds = 2\n'; // slots of 2 s, and of 30 s
  const sim = new Ibsim(service.generate('fabric.net', '--format', 'ibsim'), service.folder);
  try {
    await sim.start();
    await service.start({ name: sim.name, host: sim.host, preload: simulator! });
    service.importFabric();
    const phase = () => service.json<{ live: { phase: string } }>('subnets', 'show', 'compute').live.phase;
    await expect.poll(phase, { timeout: 30_000 }).toBe('watching');
    service.cli('subnets', 'mode', 'compute', 'direct', '--reason', 'ports are active under a subnet manager alone');
    await expect.poll(phase, { timeout: 30_000 }).toBe('synced');
    type LinkLine = { id: string; rateGbps: number; ends: { switch?: string; port: string }[] };
    const link = service.json<{ items: LinkLine[] }>('links', 'list', '--switch', 'leaf-u1-r0').items.find((one) => one.ends.every((end) => end.switch))!;
    const port = link.ends.find((end) => end.switch === 'leaf-u1-r0')!.port;
    const [guid, number] = port.split('/');
    const set = (field: string, value: number) => sim.console(`PerformanceSet "S-${guid}"[${number}] ${field}=${Math.round(value)}`);
    type History = { slots: number; slotSeconds: number; ports: { port: string; load: (number | null)[]; errors: { kind: string; counts: number[] }[] }[] };
    const history = () => service.json<History>('links', 'history', link.id).ports.find((one) => one.port === port);
    await expect.poll(() => history()?.load.filter((load) => load !== null).length ?? 0, { timeout: 30_000 }).toBeGreaterThan(1);

    // 70% of its rate for some seconds, by the simulator's counters (words of 4 bytes), then errors and silence.
    const wordsPerMs = (0.7 * link.rateGbps * 1e9) / 8 / 4 / 1000;
    const began = performance.now();
    let then = '';
    while (performance.now() - began < 9000) {
      set('PortCountersExtended.PortXmitData', (performance.now() - began) * wordsPerMs);
      if (then === '' && performance.now() - began > 6000) then = new Date().toISOString();
      await new Promise((done) => setTimeout(done, 100));
    }
    set('PortCounters.SymbolErrorCounter', 300);
    await expect.poll(() => history()!.errors.find((kind) => kind.kind === 'symbolErrors')?.counts.reduce((sum, one) => sum + one, 0) ?? 0).toBeGreaterThan(290);
    const highest = Math.max(...history()!.load.map((load) => load ?? 0));
    expect(highest).toBeGreaterThan(0.5);
    expect(highest).toBeLessThan(0.9);
    expect(service.cli('links', 'history', link.id)).toMatch(/leaf-u1-r0\/\d+ .*symbolErrors/);
    expect(service.cli('switches', 'history', 'leaf-u1-r0', '--detail', 'coarse')).toContain('of 30 s');

    // The link.
    await page.goto(`${service.url}/console/links/${link.id}`);
    const end = page.getByTestId('counters').filter({ hasText: '300, ' });
    await expect(end).toHaveCount(1);
    await expect(end.getByTestId('plot')).toHaveCount(2);
    await expect(end.getByTestId('plot').first().locator('svg')).toContainText('Gb/s'); // its axis has units
    await expect(end.getByTestId('plot').first().locator('svg')).toContainText(/\d\d:\d\d/); // and times
    await expect(end.getByRole('img', { name: /^Load; Sent: .* at most/ })).toHaveAttribute('aria-label', new RegExp(`, ${Math.round(link.rateGbps * highest).toString().slice(0, 2)}.* Gb/s at most`));
    await expect(page.getByText('in slots of 2 s')).toBeVisible();
    await page.screenshot({ path: 'screenshots/counters-link.png' });
    await page.getByLabel('History').selectOption('Longer ago');
    await expect(page.getByText('in slots of 30 s')).toBeVisible();
    await expect(page).toHaveURL(/detail=coarse/);

    // The switch: the port with errors is found by a click on the heading.
    await page.goto(`${service.url}/console/switches/leaf-u1-r0?tab=history`);
    const row = page.locator('tr', { hasText: 'symbol errors' });
    await expect(row).toHaveCount(1);
    await expect(row).toContainText(`leaf-u1-r0/${number}`);
    await expect(row.locator('svg polyline').first()).toBeVisible();
    await page.screenshot({ path: 'screenshots/counters-switch.png' });
    await page.addScriptTag({ content: axe.source }).catch(() => page.evaluate(axe.source));
    const { violations } = await page.evaluate(() => (window as unknown as { axe: typeof axe }).axe.run());
    expect(violations.filter((found) => ['serious', 'critical'].includes(found.impact ?? ''))).toEqual([]);

    // The map by errors: one cable at the level of a warning, all others read and clean.
    const answer = page.waitForResponse((response) => response.url().includes('/v1/fabric/map'));
    await page.goto(`${service.url}/console/fabric?color=errors`);
    const map = (await (await answer).json()) as FabricMap;
    const errors = map.bundles.map((bundle) => bundle.errors);
    expect(errors.every((one) => one !== null)).toBe(true);
    expect(map.bundles.filter((bundle) => bundle.errors!.grade !== 'none').map((bundle) => [bundle.link, bundle.errors!.grade, bundle.errors!.links])).toEqual([[link.id, 'warning', 1]]);
    await drawn(page);
    await page.screenshot({ path: 'screenshots/counters-map-errors.png' });
    expect(await points(page, '--warn')).toBeGreaterThan(20);
    expect(await points(page, '--bad')).toBe(0);
    await expect(page.locator('.map-key').last()).toContainText('as many as raise a critical alarm');
    await page.screenshot({ path: 'screenshots/counters-map-errors.png' });

    // The map as it was: nothing is sent now, much was then.
    const use = async (query: string) => ((await (await fetch(`${service.url}/v1/fabric/map${query}`)).json()) as FabricMap).bundles.find((bundle) => bundle.link === link.id)!.utilisation;
    await expect.poll(() => use('')).toBeLessThan(0.05);
    await page.goto(`${service.url}/console/fabric?color=load`);
    await drawn(page);
    expect(await points(page, '--accent', 60)).toBeLessThan(10);
    const past = page.waitForResponse((response) => response.url().includes('/v1/fabric/map?at='));
    await page.goto(`${service.url}/console/fabric?color=load&at=${then}`);
    const use_then = ((await (await past).json()) as FabricMap).bundles.find((bundle) => bundle.link === link.id)!.utilisation!;
    expect(use_then).toBeGreaterThan(0.55);
    await expect(page.getByLabel('Time of the map')).toHaveAttribute('aria-valuetext', /load and errors of then/);
    await expect.poll(() => points(page, use_then > 0.8 ? '--warn' : use_then >= 0.6 ? '--accent' : '--ok', 60)).toBeGreaterThan(20);
    await page.screenshot({ path: 'screenshots/counters-map-then.png' });
    await page.getByRole('button', { name: 'Back to now' }).click();
    await page.getByLabel('Time of the map').focus();
    await page.keyboard.press('ArrowLeft');
    await expect(page).toHaveURL(/at=\d/);
    await page.keyboard.press('Home'); // a day ago: before the counters
    await expect(page).toHaveURL(/at=20\d\d-/);
  } finally {
    await service.stop();
    await sim.stop();
  }
});
