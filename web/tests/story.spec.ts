// One night in the console, from an alarm to the cable replaced, as STORY.md tells it: each screen says what the page says it
// does. The same at the shell: tests/integration/night_test.py.
import { expect, test, type Page } from '@playwright/test';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { serious } from './axe';
import { Ibsim, preload } from './ibsim';
import { Service } from './service';

interface Step {
  screen: string;
  says: string[];
}

// The table of the page: a line for each screen, in order.
function stepsOfPage(): Step[] {
  const page = readFileSync(resolve(import.meta.dirname, '../STORY.md'), 'utf8');
  const lines = page.split('\n').filter((line) => line.startsWith('|')).slice(2);
  return lines.map((line) => {
    const [, screen = '', says = ''] = line.split('|').map((cell) => cell.trim());
    return { screen, says: [...says.matchAll(/“([^”]*)”/g)].map((match) => match[1]!) };
  });
}

const steps = stepsOfPage();
let told = 0;
// The next screen of the page is this one, and says all of that.
async function told_(page: Page, screen: string) {
  const step = steps[told]!;
  told += 1;
  expect(step.screen, `line ${told} of STORY.md`).toBe(screen);
  for (const text of step.says) await expect(page.locator('#main'), `${screen} says “${text}”`).toContainText(text);
  await page.screenshot({ path: `screenshots/story-${String(told).padStart(2, '0')}.png`, animations: 'disabled' });
  expect(await serious(page, ['color-contrast'])).toEqual([]);
}

test('from an alarm at night to the cable replaced', async ({ page }) => {
  const simulator = preload();
  test.skip(!simulator, 'libumad2sim.so is missing: ibsim-utils');
  test.setTimeout(200_000);
  const service = new Service();
  const sim = new Ibsim(service.generate('fabric.net', '--format', 'ibsim'), service.folder);
  try {
    await sim.start();
    await service.start({ name: sim.name, host: sim.host, preload: simulator!, counterSeconds: 600 }); // read on a busy machine, counters have alarms of their own
    service.importFabric();
    const phase = () => service.json<{ live: { phase: string } }>('subnets', 'show', 'compute').live.phase;
    await expect.poll(phase, { timeout: 30_000 }).toBe('watching');
    service.cli('subnets', 'mode', 'compute', 'direct', '--reason', 'test');
    await expect.poll(phase, { timeout: 30_000 }).toBe('synced');
    service.cli('tenants', 'set', 'research');
    service.cli('jobs', 'submit', '--tenant', 'research', '--name', 'llama-70b', '--tp', '8', '--dp', '16');
    const link = service.json<{ items: { id: string; ends: { switch?: string; port: string }[] }[] }>('links', 'list', '--switch', 'leaf-u1-r0').items.find((one) => one.ends.every((end) => end.switch))!;
    const [guid, port] = link.ends.find((end) => end.switch === 'leaf-u1-r0')!.port.split('/');
    const row = page.locator('tr', { hasText: 'is down' });

    await page.goto(`${service.url}/console`);
    await expect(page.locator('#main')).toContainText('Nothing needs a person');
    sim.console(`Unlink "S-${guid}"[${port}]`);
    await told_(page, 'Overview');
    await page.getByTestId('alarms-by-severity').click();

    await told_(page, 'Alarms');
    await row.getByRole('button', { name: 'Acknowledge' }).click();
    await expect(page.locator('input:focus, textarea:focus')).toHaveCount(1);
    await page.keyboard.type('INC-42'); // into the note, whatever happens meanwhile
    await page.keyboard.press('Enter');
    await expect(row).toHaveCount(0);
    await page.getByLabel(/Acknowledged too/).check();

    await told_(page, 'Alarms, acknowledged too');
    await row.getByRole('button', { name: 'Mute' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('For').selectOption('8 h');
    await dialog.getByLabel('Why').fill('a new cable comes at 9');
    await expect(dialog).toContainText('railweave alarms mute');
    await page.screenshot({ path: 'screenshots/story-mute.png', animations: 'disabled' });
    await dialog.getByRole('button', { name: 'Mute' }).click();
    await expect(page.getByTestId('muted').locator('tr', { hasText: 'is down' })).toHaveCount(1);

    await told_(page, 'Alarms, apart');
    await expect(page.getByRole('link', { name: 'Alarms' })).not.toContainText(/[1-9]/);
    expect(service.said('status', '--check').code).toBe(0);
    await page.getByRole('link', { name: 'Overview', exact: true }).click();

    await told_(page, 'Overview');
    await page.getByRole('link', { name: 'Fabric', exact: true }).click();
    await page.waitForFunction(() => Number(document.querySelector<HTMLElement>('[data-testid=map]')?.dataset.rendered) > 0);

    await told_(page, 'Map');
    await page.goto(`${service.url}/console/drain?kind=link&id=${link.id}`); // as the chosen cable's Drain leads to: map.spec.ts

    await told_(page, 'Drain');
    await page.getByLabel('Reason').fill('INC-42');
    await page.getByRole('button', { name: 'Drain it' }).click();
    await expect(page.getByTestId('progress')).toContainText('Safe to unplug', { timeout: 30_000 });

    await told_(page, 'Drain');
    sim.console(`ReLink "S-${guid}"[${port}]`); // the cable is replaced
    await expect.poll(() => service.json<{ state: string }>('links', 'show', link.id).state, { timeout: 30_000 }).toBe('up');
    await page.goto(`${service.url}/console/links/${link.id}`);

    await told_(page, 'Link');
    await page.getByRole('link', { name: 'Progress, undo' }).click();
    await page.getByRole('button', { name: 'Take it back into use' }).click();
    await page.getByRole('link', { name: 'Drains', exact: true }).click();

    await told_(page, 'Drains');
    await expect.poll(phase, { timeout: 30_000 }).toBe('synced');
    await page.getByRole('link', { name: 'Overview', exact: true }).click();

    await told_(page, 'Overview');
    expect(told, 'every line of STORY.md').toBe(steps.length);
    expect(service.said('status', '--check').code).toBe(0);
  } finally {
    await service.stop();
    await sim.stop();
  }
});
