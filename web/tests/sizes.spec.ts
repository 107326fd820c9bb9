// Every view in both themes at the widths of a desk, a tablet and a phone, on the demo, on a real fabric of 194 hosts
// (RAILWEAVE_DATA: the folder of real fabrics) and on 12,800 hosts (SCALE=1; ten minutes): nothing is cut off or wider than its
// window, axe finds nothing serious, the browser reports no error. A picture of each is written to be looked at: PICTURES=1.
import { expect, test, type Page } from '@playwright/test';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { serious } from './axe';
import { Service } from './service';
import { go, settled, shots, type Shot } from './shots';

const SIZES = [[1440, 900], [1024, 768], [390, 844]] as const;
const THEMES = ['dark', 'light'] as const;
const DATA = process.env.RAILWEAVE_DATA ?? join(import.meta.dirname, '../../../shared/data');
const DGX = join(DATA, 'ib/dgx-h100-ndr.ibnetdiscover.txt');

// Of controls that can be used, those that are not wholly in the window, and are in nothing that scrolls sideways.
async function cutOff(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const scrolls = (element: Element | null): boolean => element !== null && element.id !== 'main' && (['auto', 'scroll'].includes(getComputedStyle(element).overflowX) || scrolls(element.parentElement));
    return [...document.querySelectorAll('select, button, input, #main a')].flatMap((element) => {
      const { left, right, width, height } = element.getBoundingClientRect();
      if (width === 0 || height === 0 || element.closest('.sr-only, .skip') || element.classList.contains('skip') || scrolls(element)) return [];
      return left < -1 || right > innerWidth + 1 ? [`${element.tagName.toLowerCase()} “${element.getAttribute('aria-label') ?? element.textContent?.slice(0, 30)}” from ${Math.round(left)} to ${Math.round(right)}`] : [];
    });
  });
}

async function everyView(page: Page, service: Service, name: string, all: Shot[]) {
  const found: string[] = [];
  page.on('console', (message) => message.type() === 'error' && found.push(`${page.url()}: ${message.text()}`));
  page.on('pageerror', (error) => found.push(`${page.url()}: ${error.message}`));
  const only = process.env.ONLY?.split(',');
  const widths = process.env.WIDTHS?.split(',').map(Number);
  for (const shot of all) {
    if (only && !only.includes(shot.name)) continue;
    for (const [width, height] of SIZES) {
      if (widths && !widths.includes(width)) continue;
      await page.setViewportSize({ width, height });
      await go(page, service, shot.path);
      await settled(page);
      for (const theme of THEMES) {
        await page.emulateMedia({ colorScheme: theme });
        const at = `${name} ${shot.name} ${width} ${theme}`;
        const wide = await page.evaluate(() => document.documentElement.scrollWidth);
        if (wide > width + 1) found.push(`${at}: ${wide} px wide`);
        if (theme === 'dark') for (const cut of await cutOff(page)) found.push(`${at}: cut off: ${cut}`);
        if (process.env.PICTURES === '1') await page.screenshot({ path: `screenshots/sizes/${name}-${shot.name}-${width}-${theme}.png`, animations: 'disabled' });
        if (process.env.AXE === '0') continue;
        for (const violation of await serious(page, theme === 'dark' ? [] : ['color-contrast'])) found.push(`${at}: ${violation}`);
      }
    }
  }
  expect(found).toEqual([]);
}

const extra = (job: string): Shot[] => [
  { name: 'job-traffic', path: `/jobs/${job}?tab=traffic`, shows: '' },
  { name: 'fabric-matrix', path: '/fabric?as=matrix', shows: '' },
  { name: 'fabric-job', path: `/fabric?job=${job}`, shows: '' },
];

test('the demo', async ({ page }) => {
  test.setTimeout(900_000);
  const service = new Service();
  try {
    await service.start();
    service.seed();
    await everyView(page, service, 'demo', [...shots(service), ...extra('job-000001')]);
  } finally {
    await service.stop();
  }
});

test('a real fabric of 194 hosts', async ({ page }) => {
  test.skip(!existsSync(DGX), `${DGX} is missing`);
  test.setTimeout(900_000);
  const service = new Service();
  try {
    await service.start();
    service.cli('fabric', 'import', DGX, '--gpus-per-node', '8');
    service.cli('tenants', 'set', 'research');
    service.cli('jobs', 'submit', '--tenant', 'research', '--name', 'llama-70b', '--tp', '8', '--dp', '16');
    service.cli('jobs', 'submit', '--tenant', 'research', '--name', 'ablation', '--tp', '8', '--pp', '2', '--dp', '4');
    service.cli('jobs', 'submit', '--tenant', 'research', '--name', 'short', '--tp', '4', '--dp', '2');
    service.cli('jobs', 'submit', '--tenant', 'research', '--name', 'greedy', '--tp', '8', '--dp', '100', '--queue');
    await everyView(page, service, 'dgx', [...shots(service), ...extra('job-000001')]);
  } finally {
    await service.stop();
  }
});

test('12,800 hosts', async ({ page }) => {
  test.skip(process.env.SCALE !== '1', 'SCALE=1 runs it');
  test.setTimeout(1_800_000);
  const service = new Service();
  try {
    await service.start();
    const file = join(service.folder, 'big.json');
    service.cli('lab', 'generate', 'gpus-100k', '-O', file);
    service.cli('fabric', 'import', file);
    service.cli('tenants', 'set', 'research');
    service.cli('jobs', 'submit', '--tenant', 'research', '--name', 'frontier', '--tp', '8', '--pp', '16', '--dp', '64');
    for (const dp of ['16', '8', '4']) service.cli('jobs', 'submit', '--tenant', 'research', '--name', `of-${dp}`, '--tp', '8', '--dp', dp);
    await everyView(page, service, 'big', [...shots(service), ...extra('job-000002')]);
  } finally {
    await service.stop();
  }
});
