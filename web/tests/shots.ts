// Every view with what it must show, and the route to it.
import { expect, type Page } from '@playwright/test';
import type { Service } from './service';

export interface Shot {
  name: string;
  path: string;
  shows: string | RegExp; // text that only real data gives
}

const first = (service: Service, noun: string, ...args: string[]) => service.json<{ items: { id: string }[] }>(noun, 'list', ...args).items[0]!.id;

export function shots(service: Service): Shot[] {
  const leaf = first(service, 'switches');
  const link = service.json<{ items: { id: string }[] }>('links', 'list', '--switch', leaf).items.at(-1)!.id;
  const nodes = service.json<{ items: { id: string }[] }>('nodes', 'list').items.map((node) => node.id);
  return [
    { name: 'overview', path: '', shows: 'queued' },
    { name: 'fabric-map', path: '/fabric', shows: 'in order' },
    { name: 'fabric-map-tenant', path: '/fabric?color=tenant', shows: 'research' },
    { name: 'fabric-links', path: '/fabric?view=links', shows: '96' },
    { name: 'fabric-nodes', path: '/fabric?view=nodes', shows: nodes[0]! },
    { name: 'fabric-subnets', path: '/fabric?view=subnets', shows: 'observe' },
    { name: 'fabric-map-errors', path: '/fabric?color=errors', shows: 'raise a critical alarm' },
    { name: 'fabric-map-against', path: '/fabric?color=against', shows: 'more is used than reserved' },
    { name: 'fabric-differences', path: '/fabric?view=differences', shows: 'No subnet is live' },
    { name: 'switch', path: `/switches/${leaf}`, shows: 'Cabling' },
    { name: 'switch-history', path: `/switches/${leaf}?tab=history`, shows: 'Its counters are not read' },
    { name: 'link', path: `/links/${link}`, shows: 'pairs cross it' },
    { name: 'node', path: `/nodes/${nodes[0]}`, shows: 'llama-70b' },
    { name: 'path', path: `/path?from=${nodes[0]}&to=${nodes[12]}`, shows: 'arrived' },
    { name: 'jobs', path: '/jobs', shows: 'llama-70b' },
    { name: 'job', path: '/jobs/job-000001', shows: 'llama-70b' },
    { name: 'job-ranks', path: '/jobs/job-000001?tab=ranks', shows: nodes[0]! },
    { name: 'job-waits', path: '/jobs/job-000004', shows: 'Waits' },
    { name: 'queue', path: '/queue', shows: 'greedy' },
    { name: 'queue-shares', path: '/queue?tab=shares', shows: 'research' },
    { name: 'queue-reservations', path: '/queue?tab=reservations', shows: 'firmware' },
    { name: 'queue-rules', path: '/queue?tab=policy', shows: 'Half-life' },
    { name: 'submit', path: '/submit?tensor=8&data=2&tenant=research', shows: 'It fits' },
    { name: 'submit-refused', path: '/submit?tensor=8&data=15&tenant=research', shows: /It can never be placed/ },
    { name: 'tenants', path: '/tenants', shows: 'product' },
    { name: 'tenant', path: '/tenants/product', shows: 'serving' },
    { name: 'guarantees', path: '/guarantees', shows: 'all-reduce' },
    { name: 'drains', path: '/drains', shows: 'power supply' },
    { name: 'drain', path: `/drain?kind=switch&id=${leaf}`, shows: 'table entries change' },
    { name: 'drain-window', path: `/drain?kind=switch&id=${leaf},node:${nodes[1]}`, shows: 'All of them together' },
    { name: 'alarms', path: '/alarms', shows: 'Nothing is wrong' },
    { name: 'events', path: '/events', shows: 'llama-70b' },
    { name: 'planning', path: `/planning?switches=${service.json<{ items: { id: string; tier: number }[] }>('switches', 'list').items.find((sw) => sw.tier === 1)!.id}`, shows: 'entries change' },
    { name: 'planning-lab', path: '/planning?tab=lab', shows: 'Nothing is planned yet' },
  ];
}

// By the page's own history: a load for every view would take most of the run.
export async function go(page: Page, service: Service, path: string) {
  if (page.url() === 'about:blank') {
    await page.goto(`${service.url}/console${path}`);
    return;
  }
  await page.evaluate((to) => {
    history.pushState({}, '', to);
    dispatchEvent(new PopStateEvent('popstate'));
  }, `/console${path}`);
  await expect(page.locator('#main')).toHaveAttribute('data-path', path.split('?')[0] || '/');
}

export async function settled(page: Page) {
  await expect(page.locator('[aria-label=Loading]')).toHaveCount(0);
  await expect(page.getByText(/^live ·/)).toBeVisible();
  if (await page.getByTestId('map').count()) await page.waitForFunction(() => Number(document.querySelector<HTMLElement>('[data-testid=map]')?.dataset.primitives) > 0);
}
