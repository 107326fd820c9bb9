// Two railweaved on one PostgreSQL database: the leader is killed, and the console at the other says who leads now, goes on
// with what happens, and makes changes.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from '@playwright/test';
import { Service } from './service';
import { temporaryFolder } from './temporary_folder';

const SERVER = resolve(import.meta.dirname, '../../tests/support/postgres_server.py');
const python = (...args: string[]) => execFileSync('/usr/bin/python3', [SERVER, ...args], { stdio: ['ignore', 'ignore', 'pipe'], timeout: 60_000 });

test('the leader changes while the page is open', async ({ page }) => {
  const folder = temporaryFolder('railweave-console-postgres-');
  let without = '';
  try {
    python('start', folder);
  } catch (error) {
    if ((error as { status?: number }).status !== 77) throw error;
    without = "PostgreSQL's server is not installed (Debian: postgresql-15)";
  }
  test.skip(without !== '', without);
  const first = new Service();
  const second = new Service();
  try {
    const url = `${readFileSync(join(folder, 'url'), 'utf8').trim()}postgres`;
    for (const [service, name] of [[first, 'fabric-1'], [second, 'fabric-2']] as const) {
      service.store = url;
      service.replica = name;
      await service.start();
    }
    const leaderAt = async (service: Service) => ((await (await fetch(`${service.url}/v1/leader`)).json()) as { leader: { name: string } }).leader.name;
    await expect.poll(() => leaderAt(second)).toBe('fabric-1');
    first.importFabric();
    await page.goto(`${second.url}/console`);
    await expect(page.getByTestId('leader')).toContainText('fabric-1 leads');
    await expect(page.getByTestId('replica')).toContainText('fabric-2');
    await expect(page.getByTestId('replica')).toContainText('following');
    await page.screenshot({ path: 'screenshots/replica-overview.png' });
    // What the leader decides is seen at the follower.
    first.cli('tenants', 'set', 'before');
    await expect(page.locator('#main')).toContainText('before');
    await first.kill();
    await expect(page.getByTestId('leader')).toContainText('fabric-2 leads', { timeout: 20_000 });
    await expect(page.getByTestId('replica')).toContainText('ready');
    await expect(page.getByText(/^live ·/)).toBeVisible();
    second.cli('tenants', 'set', 'after');
    await expect(page.locator('#main')).toContainText('after');
    // A change made by the page.
    await page.goto(`${second.url}/console/submit?tensor=8&tenant=after&name=goes-on`);
    await expect(page.getByTestId('outcome')).toContainText('It fits');
    await page.getByRole('button', { name: 'Submit' }).click();
    await expect(page.getByRole('heading', { level: 1, name: 'goes-on' })).toBeVisible();
  } finally {
    await first.stop();
    await second.stop();
    python('stop', folder);
  }
});
