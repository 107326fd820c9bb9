// The map as an operator uses it: find something, point at a cable, choose it, drain it, keep the picture.
import { expect, test, type Page } from '@playwright/test';
import { readFileSync } from 'node:fs';
import { serious } from './axe';
import { seededService } from './seeded';

const service = seededService();

async function drawn(page: Page) {
  await page.waitForFunction(() => Number(document.querySelector<HTMLElement>('[data-testid=map]')?.dataset.primitives) > 0);
  return page.getByTestId('map');
}

// A point of the map at which a cable is hovered.
async function cable(page: Page) {
  const box = (await page.getByTestId('map').boundingBox())!;
  for (let row = 2; row < 18; row += 1) {
    for (let column = 4; column < 36; column += 1) {
      const [x, y] = [box.x + (box.width * column) / 40, box.y + (box.height * row) / 20];
      await page.mouse.move(x, y);
      if (await page.getByTestId('cable-tip').isVisible()) return { x, y };
    }
  }
  throw new Error('no cable is under any point');
}

test('what is found comes into view, and what is not there is said', async ({ page }) => {
  const node = service.json<{ items: { id: string }[] }>('nodes', 'list').items[7]!.id;
  await page.goto(`${service.url}/console/fabric`);
  const map = await drawn(page);
  await page.getByLabel('Find on the map').fill(node);
  await expect(map).toHaveAttribute('data-found', '1');
  await page.screenshot({ path: 'screenshots/map-found.png' });
  await page.getByLabel('Find on the map').fill('no-such-thing');
  await expect(page.getByTestId('elsewhere')).toContainText('Nothing is called “no-such-thing”');
});

test('a cable is pointed at, chosen, and drained from the map with its preview', async ({ page }) => {
  await page.goto(`${service.url}/console/fabric`);
  await drawn(page);
  const at = await cable(page);
  await expect(page.getByTestId('cable-tip')).toContainText('Gb/s');
  await page.mouse.click(at.x, at.y);
  await expect(page.getByTestId('chosen')).toBeVisible();
  await page.screenshot({ path: 'screenshots/map-chosen.png' });
  await page.getByTestId('chosen').getByRole('link', { name: 'Drain' }).click();
  await expect(page.locator('#main')).toContainText('table entries change');
});

test('leaves against spines are a matrix whose cells are pointed at and chosen', async ({ page }) => {
  await page.goto(`${service.url}/console/fabric`);
  await drawn(page);
  await page.getByLabel('Draw as').selectOption('matrix');
  const matrix = page.getByTestId('matrix');
  await expect(matrix).toHaveAttribute('data-primitives', /[1-9]/);
  const box = (await matrix.boundingBox())!;
  await page.mouse.move(box.x + 150 + 5, box.y + 24 + 5);
  await expect(page.getByTestId('cable-tip')).toContainText('leaf-u1-r0');
  await page.mouse.click(box.x + 150 + 5, box.y + 24 + 5);
  await expect(page.getByTestId('chosen').getByRole('link', { name: 'Drain' })).toBeVisible();
  await page.screenshot({ path: 'screenshots/map-matrix.png' });
  expect(await serious(page, [])).toEqual([]);
});

test('the picture is kept as SVG and as PNG', async ({ page }) => {
  await page.goto(`${service.url}/console/fabric`);
  await drawn(page);
  for (const [kind, start] of [['SVG', '<svg'], ['PNG', '\u0089PNG']] as const) {
    const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: `Save the picture as ${kind}` }).click()]);
    expect(readFileSync(await file.path(), 'latin1').startsWith(start), kind).toBe(true);
  }
});

test('a job is chosen: its GPUs and cables light up, with their load', async ({ page }) => {
  await page.goto(`${service.url}/console/fabric`);
  await drawn(page);
  await page.getByLabel('Job', { exact: true }).selectOption({ label: 'llama-70b (job-000001), 32 GPUs' });
  await expect(page).toHaveURL(/job=job-000001/);
  await expect(page.getByLabel('Colour by')).toHaveValue('job');
  const told = page.getByTestId('job-on-map');
  await expect(told).toContainText('holds 32 GPUs here and sends over');
  await expect(told).toContainText(/carries .* of it in the mean/);
  await expect(page.locator('.map-key .legend')).toContainText('GPUs of the job');
  await page.waitForTimeout(300);
  await page.screenshot({ path: 'screenshots/map-job.png' });
  expect(await serious(page, [])).toEqual([]);
  await page.goto(`${service.url}/console/jobs/job-000001`);
  await page.getByRole('link', { name: 'On the map' }).click();
  await expect(page.getByTestId('job-on-map')).toBeVisible();
});

test('the matrix is kept as SVG, PNG and CSV', async ({ page }) => {
  await page.goto(`${service.url}/console/fabric?as=matrix`);
  await expect(page.getByTestId('matrix')).toHaveAttribute('data-primitives', /[1-9]/);
  for (const [kind, start] of [['SVG', '<svg'], ['PNG', '\u0089PNG'], ['CSV', 'Leaf,Spine,Cables']] as const) {
    const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: `Save the matrix as ${kind}` }).click()]);
    const text = readFileSync(await file.path(), 'latin1');
    expect(text.startsWith(start), `${kind}: ${text.slice(0, 40)}`).toBe(true);
    if (kind === 'CSV') expect(text.trim().split('\n').length).toBeGreaterThan(8);
  }
});

test('a phone shows every selector of the map whole, and racks as grids of GPU slots', async ({ page }) => {
  await page.setViewportSize({ width: 390, height: 844 });
  await page.goto(`${service.url}/console/fabric`);
  await drawn(page);
  for (const name of ['Region', 'Job', 'Draw as', 'Colour by']) {
    const box = (await page.getByLabel(name, { exact: true }).boundingBox())!;
    expect(box.x, name).toBeGreaterThanOrEqual(0);
    expect(box.x + box.width, name).toBeLessThanOrEqual(390);
  }
  await page.screenshot({ path: 'screenshots/map-phone.png' });
});

test('who of a job talks to whom is a matrix; what is measured on the way is beside it', async ({ page }) => {
  await page.goto(`${service.url}/console/jobs/job-000001?tab=traffic`);
  const pairs = page.getByTestId('pairs');
  await expect(pairs).toHaveAttribute('data-primitives', /\d\d/);
  await expect(page.locator('.map-key .legend')).toContainText('NVLink');
  const sent = (await (await fetch(`${service.url}/v1/jobs/job-000001/traffic`)).json()) as { ends: string[]; pairs: { from: number; to: number; over: string }[] };
  expect(sent.ends).toHaveLength(32);
  const far = sent.pairs.find((pair) => pair.over === 'network' || pair.over === 'leaf')!;
  const box = (await pairs.boundingBox())!;
  const cell = Math.min(22, (box.width - Math.min(150, box.width * 0.3) - 8) / 32, (box.height - 28) / 32);
  const left = cell >= 9 ? Math.min(150, box.width * 0.3) : 20;
  await page.mouse.move(box.x + left + (far.to + 0.5) * cell, box.y + 20 + (far.from + 0.5) * cell);
  await expect(page.getByTestId('pair-tip')).toContainText(`${sent.ends[far.from]} → ${sent.ends[far.to]}`);
  await page.mouse.down();
  await page.mouse.up();
  await expect(page.getByTestId('seen')).toContainText('no counters are read on the way');
  await page.screenshot({ path: 'screenshots/job-pairs.png' });
  expect(await serious(page, [])).toEqual([]);
  const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Save the pairs as CSV' }).click()]);
  expect(readFileSync(await file.path(), 'utf8').trim().split('\n')).toHaveLength(sent.pairs.length + 1);
  expect(service.cli('jobs', 'traffic', 'job-000001')).toContain('nvlink');
});
