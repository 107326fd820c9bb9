// On a simulated subnet that railweaved programs: a cable is cut, and the map, the alarm and the link's own view follow by
// themselves; a link is drained until it is safe to unplug.
import { expect, test } from '@playwright/test';
import type { FabricMap } from '../src/model/map/layout';
import { Ibsim, preload } from './ibsim';
import { Service } from './service';

test('a cable is cut and plugged in again; another is drained', async ({ page }) => {
  const simulator = preload();
  test.skip(!simulator, 'libumad2sim.so is missing: ibsim-utils');
  test.setTimeout(120_000);
  const service = new Service();
  const sim = new Ibsim(service.generate('fabric.net', '--format', 'ibsim'), service.folder);
  try {
    await sim.start();
    await service.start({ name: sim.name, host: sim.host, preload: simulator! });
    service.importFabric();
    const phase = () => service.json<{ live: { phase: string } }>('subnets', 'show', 'compute').live.phase;
    await expect.poll(phase, { timeout: 30_000 }).toBe('watching');
    service.cli('subnets', 'mode', 'compute', 'direct', '--reason', 'test');
    await expect.poll(phase, { timeout: 30_000 }).toBe('synced');
    service.cli('tenants', 'set', 'research');
    service.cli('jobs', 'submit', '--tenant', 'research', '--name', 'wide', '--tp', '8', '--dp', '16');

    const uplinks = service.json<{ items: { id: string; ends: { switch?: string; port: string }[] }[] }>('links', 'list', '--switch', 'leaf-u1-r0').items.filter((link) => link.ends.every((end) => end.switch));
    expect(uplinks.length).toBe(4);
    const cut = uplinks[0]!;
    const leafEnd = cut.ends.find((end) => end.switch === 'leaf-u1-r0')!.port;
    const cable = `"S-${leafEnd.split('/')[0]}"[${leafEnd.split('/')[1]}]`;

    await page.goto(`${service.url}/console`);
    await expect(page.locator('#main')).toContainText('synced');
    await page.screenshot({ path: 'screenshots/live-overview.png' });
    await page.goto(`${service.url}/console/fabric`);
    await page.waitForFunction(() => Number(document.querySelector<HTMLElement>('[data-testid=map]')?.dataset.rendered) > 0);
    const shown = page.waitForResponse(async (response) => {
      if (!response.url().includes('/v1/fabric/map')) return false;
      const map = (await response.json()) as FabricMap;
      return map.bundles.some((bundle) => bundle.link === cut.id && bundle.down === 1);
    });
    const cutAt = performance.now();
    sim.console(`Unlink ${cable}`);
    await shown;
    const mapMs = Math.round(performance.now() - cutAt);
    // The alarm came by the same events.
    await expect(page.getByRole('link', { name: 'Alarms' })).toContainText(/[1-9]/);
    console.log(`a cable cut at the simulator: on the map after ${mapMs} ms, among the alarms after ${Math.round(performance.now() - cutAt)} ms`);
    expect(mapMs).toBeLessThan(1000);
    await page.screenshot({ path: 'screenshots/live-map-down.png' });
    await page.goto(`${service.url}/console/alarms`);
    await expect(page.locator('#main')).toContainText(cut.id);
    await page.screenshot({ path: 'screenshots/live-alarms.png' });
    // Acknowledged for everybody: the command line and another browser see who looks after it.
    const alarm = () => service.json<{ items: { id: string; acknowledged: { by: string; note: string } | null }[] }>('alarms', '--kind', 'link.down').items[0]!;
    await page.locator('tr', { hasText: cut.id }).getByRole('button', { name: 'Acknowledge' }).click();
    await page.getByRole('dialog').getByLabel('Note').fill('INC-42');
    await page.screenshot({ path: 'screenshots/live-acknowledge.png', animations: 'disabled' });
    await page.getByRole('dialog').getByRole('button', { name: 'Acknowledge' }).click();
    await expect(page.locator('tr', { hasText: cut.id })).toHaveCount(0);
    expect(alarm().acknowledged).toMatchObject({ note: 'INC-42' });
    // It is counted no longer; on a busy machine there may be others, which are.
    await expect(async () => {
      const open = service.json<{ items: { kind: string; acknowledged: unknown; subject: unknown }[] }>('alarms').items.filter((one) => !one.acknowledged);
      if (open.length > 0) console.log(`other alarms: ${JSON.stringify(open)}`);
      expect(open.filter((one) => one.kind === 'link.down')).toEqual([]);
      expect(await page.getByRole('link', { name: 'Alarms' }).textContent()).toBe(open.length > 0 ? `Alarms${open.length}` : 'Alarms');
    }).toPass({ timeout: 15_000 });
    const other_ = await (await page.context().browser()!.newContext()).newPage();
    await other_.goto(`${service.url}/console/alarms?acknowledged=shown`);
    await expect(other_.locator('tr', { hasText: cut.id })).toContainText('INC-42');
    await other_.getByRole('button', { name: 'Take back' }).click();
    await expect(page.locator('tr', { hasText: cut.id })).toBeVisible(); // the first browser follows by itself
    expect(alarm().acknowledged).toBeNull();
    service.cli('alarms', 'acknowledge', alarm().id, '--note', 'INC-43');
    await expect(other_.locator('tr', { hasText: cut.id })).toContainText('INC-43');
    await other_.context().close();
    await page.goto(`${service.url}/console/links/${cut.id}`);
    await expect(page.locator('.title')).toContainText('down');
    await expect(page.locator('#main')).toContainText('Sent'); // its counters are read
    await page.screenshot({ path: 'screenshots/live-link.png' });
    sim.console(`ReLink ${cable}`);
    await expect(page.locator('.title')).toContainText('up');
    await expect(page.locator('#main')).toContainText(`link ${cut.id} is up`); // what happened to it, as it happens
    await expect(page.getByTestId('plot').locator('svg').first()).toBeVisible(); // with the second reading
    await page.screenshot({ path: 'screenshots/live-link-counters.png' });
    await expect.poll(phase, { timeout: 30_000 }).toBe('synced');
    await page.goto(`${service.url}/console/fabric?view=subnets`);
    await expect(page.locator('#main')).toContainText('1 link down'); // the latest programming
    await page.screenshot({ path: 'screenshots/live-subnet.png' });

    // The time slider: the map as it was while the cable was cut.
    await page.goto(`${service.url}/console/fabric`);
    const slider = page.getByLabel('Time of the map');
    await expect(slider).toHaveAttribute('aria-valuetext', 'now');
    const events = service.json<{ items: { seq: number; type: string; data: { links: { link: string }[] } }[] }>('events', '--type', 'link.down').items;
    const moment = events.find((event) => event.data.links.length === 1 && event.data.links[0]!.link === cut.id)!;
    await page.goto(`${service.url}/console/fabric?at=${moment.seq}`);
    await expect(slider).toHaveAttribute('aria-valuetext', /is down|link/);
    await page.waitForFunction(() => Number(document.querySelector<HTMLElement>('[data-testid=map]')?.dataset.rendered) > 0);
    await expect(page.getByTestId('jobs-then')).toHaveText('1 job on 128 GPUs');
    await page.screenshot({ path: 'screenshots/live-map-then.png' });
    await page.getByRole('button', { name: 'Back to now' }).click();
    await expect(slider).toHaveAttribute('aria-valuetext', 'now');

    // Which jobs send over a link, promised or not, and which pairs cross it.
    // The job's data rings leave the leaf once for each rail: by one of its uplinks, as the tables say.
    const other = uplinks[1]!;
    const carrying = [];
    for (const uplink of uplinks) {
      const { directions } = (await (await fetch(`${service.url}/v1/links/${uplink.id}/traffic`)).json()) as { directions: { traffic: { jobs: { job: string }[] } }[] };
      if (directions.some((direction) => direction.traffic.jobs.some((job) => job.job === 'job-000001'))) carrying.push(uplink.id);
    }
    expect(carrying.length).toBeGreaterThan(0);
    expect(carrying.length).toBeLessThan(uplinks.length);
    await page.goto(`${service.url}/console/links/${carrying[0]}`);
    await expect(page.getByTestId('crossing')).toHaveCount(2);
    await expect(page.getByTestId('crossing').first()).toContainText('pairs cross it');
    await expect(page.getByTestId('crossing').filter({ hasText: 'job-000001' })).not.toHaveCount(0);
    await page.screenshot({ path: 'screenshots/live-link-routes.png' });

    await page.goto(`${service.url}/console/drain?kind=link&id=${other.id}`);
    await expect(page.getByTestId('preview')).toContainText('rerouted');
    await page.getByLabel('Reason').fill('replace the cable');
    await page.getByRole('button', { name: 'Drain it' }).click();
    await expect(page.getByTestId('progress')).toContainText('Safe to unplug', { timeout: 30_000 });
    await page.screenshot({ path: 'screenshots/live-drained.png' });
    await page.getByRole('button', { name: 'Take it back into use' }).click();
    await expect(page.getByTestId('progress')).toHaveCount(0);
  } finally {
    await service.stop();
    await sim.stop();
  }
});

test('a subnet that is blind is drawn as unknown', async ({ page }) => {
  const simulator = preload();
  test.skip(!simulator, 'libumad2sim.so is missing: ibsim-utils');
  test.setTimeout(120_000);
  const service = new Service();
  const sim = new Ibsim(service.generate('fabric.net', '--format', 'ibsim'), service.folder);
  try {
    await sim.start();
    await service.start({ name: sim.name, host: sim.host, preload: simulator! });
    service.importFabric();
    const phase = () => (JSON.parse(service.said('subnets', 'show', 'compute', '-o', 'json').output) as { live: { phase: string } }).live.phase;
    await expect.poll(phase, { timeout: 30_000 }).toBe('watching');
    const map = () => page.waitForResponse((response) => response.url().includes('/v1/fabric/map')).then(async (response) => (await response.json()) as FabricMap);
    let shown = map();
    await page.goto(`${service.url}/console/fabric`);
    expect((await shown).bundles.every((bundle) => bundle.unknown === 0)).toBe(true);
    await expect(page.locator('.map-key', { hasText: 'not seen now' })).toContainText('not seen now');

    // The cable of the machine that the service is on: nothing can be asked any more, and the map follows by itself.
    const blind = page.waitForResponse(async (response) => response.url().includes('/v1/fabric/map') && ((await response.json()) as FabricMap).bundles.every((bundle) => bundle.unknown === bundle.links));
    sim.console(`Unlink "${sim.host}"`);
    await blind;
    await page.screenshot({ path: 'screenshots/live-blind-map.png' });
    const links = service.json<{ items: { state: string; lastState: string; seenAt: string }[] }>('links', 'list').items;
    expect(new Set(links.filter((link) => 'lastState' in link).map((link) => link.state))).toEqual(new Set(['unknown']));
    expect(links.filter((link) => 'lastState' in link && link.state === 'up')).toEqual([]);  // NVLink is not the subnet's
    await page.goto(`${service.url}/console`);
    await expect(page.locator('#main')).toContainText('links and tables are not known; last seen');
    await expect(page.locator('#main')).not.toContainText('watching');
    await page.screenshot({ path: 'screenshots/live-blind-overview.png' });
    await page.goto(`${service.url}/console/fabric?view=subnets`);
    await expect(page.locator('#main')).toContainText('unknown');
    await expect(page.locator('#main')).not.toContainText(/\d+ up/);
    const status = service.said('status');
    expect(status.code).toBe(10);
    expect(status.output).toContain('nothing is known of its links and tables since');
    expect(service.said('subnets', 'show', 'compute').code).toBe(10);

    shown = page.waitForResponse(async (response) => response.url().includes('/v1/subnets') && (await response.text()).includes('"phase":"watching"')).then(async () => ({}) as FabricMap);
    sim.console(`ReLink "${sim.host}"`);
    await shown;
    expect(service.said('status').code).toBe(0);
  } finally {
    await service.stop();
    await sim.stop();
  }
});
