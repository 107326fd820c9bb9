import { expect, test } from 'vitest';
import { dueAt } from './session';

const session = (seconds: number, refresh: string | null) => ({ idToken: null, refresh, from: 1_000_000, until: 1_000_000 + seconds * 1000 });

test('a session is renewed in good time, and ends at its end where it cannot be', () => {
  expect(dueAt(session(3600, 'r'))).toBe(1_000_000 + 3300_000);
  expect(dueAt(session(8, 'r'))).toBe(1_000_000 + 6000);
  expect(dueAt(session(3600, null))).toBe(1_000_000 + 3600_000);
});
