// What jobs report of their steps: on the page of a job, beside the prediction, and on the overview as what control has gained.
import { expect, test } from '@playwright/test';
import { serious } from './axe';
import { Service } from './service';

test('a job shows the steps that it reports, and the overview what they say of control', async ({ page }) => {
  const service = new Service();
  try {
    await service.start();
    service.importFabric();
    service.cli('tenants', 'set', 'research');
    const nodes = service.json<{ items: { id: string }[] }>('nodes', 'list').items.map((node) => node.id);
    const model = 'parameters=7e9,layers=32,hiddenSize=4096,sequenceLength=4096,globalBatchSize=64';
    const like = ['--tenant', 'research', '--name', 'llama', '--tp', '8', '--dp', '2', '--model', model];
    const jobs = [
      ...[0, 1].map((i) => service.json<{ id: string }>('jobs', 'adopt', ...like, '--on', nodes[i]!, '--on', nodes[15 - i]!).id),
      ...[0, 1].map(() => service.json<{ id: string }>('jobs', 'submit', ...like).id),
    ];
    const report = (job: string, steps: number, seconds: number) => service.cli('jobs', 'report-steps', job, '--steps', String(steps), '--seconds', String(seconds));
    await page.goto(`${service.url}/console`);
    await expect(page.locator('#main')).toContainText('The last hour');
    await expect(page.getByTestId('gains')).toHaveCount(0);
    [60, 62, 50, 51].forEach((seconds, i) => report(jobs[i]!, 20, seconds));
    // Without a reload: reports are events.
    await expect(page.getByTestId('gains')).toContainText(/place\s*steps take 17\.2% less time \(95%: [0-9.]+% to [0-9.]+%\) 2 jobs with it, 2 without/);
    await page.screenshot({ path: 'screenshots/steps-overview.png', animations: 'disabled' });
    await page.goto(`${service.url}/console/jobs/${jobs[0]!}`);
    const steps = page.getByTestId('steps');
    await expect(steps).toContainText(/3,000 ms, 1\.[0-9]+ times the [0-9,]+ ms predicted/);
    await expect(steps).toContainText('20 steps, at observe');
    await expect(steps).toContainText('llama');
    await page.screenshot({ path: 'screenshots/steps-job.png', animations: 'disabled', fullPage: true });
    expect(await serious(page, ['color-contrast'])).toEqual([]);
  } finally {
    await service.stop();
  }
});
