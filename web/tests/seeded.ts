// The service of a spec file: seeded, and there for all of its tests.
import { test } from '@playwright/test';
import { Service } from './service';

export function seededService(authentication = 'none'): Service {
  const service = new Service();
  test.beforeAll(async () => {
    service.authentication = authentication;
    await service.start();
    service.seed();
  });
  test.afterAll(async () => {
    await service.stop();
  });
  return service;
}
