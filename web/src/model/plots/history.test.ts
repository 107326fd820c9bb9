import { expect, test } from 'vitest';
import { errorsOf, lineOf, polylines, reachText, summaryOf, timesOf, type CounterHistory } from './history';

const history: CounterHistory = {
  detail: 'fine',
  from: '2026-11-21T09:00:00Z',
  slotSeconds: 60,
  slots: 4,
  ports: [
    {
      port: 'a/1',
      portName: 'leaf-1/1',
      link: 'a/1--b/1',
      unread: null,
      load: [null, 0.5, 0.25, null],
      peak: [null, 0.9, 0.3, null],
      waiting: [null, 0, 0.1, null],
      errors: [
        { kind: 'symbolErrors', counts: [null, 3, 0, null] },
        { kind: 'discards', counts: [null, 0, 4, null] },
      ],
    },
  ],
};
const port = history.ports[0]!;

test('lines have a point in the middle of each slot', () => {
  expect(timesOf(history)).toEqual([0, 1, 2, 3].map((i) => Date.parse('2026-11-21T09:00:30Z') / 1000 + i * 60));
  expect(lineOf(history, port.load, 400).values).toEqual([null, 200, 100, null]);
  expect(lineOf({ ...history, from: null, slotSeconds: null, slots: 0, ports: [] }, undefined)).toEqual({ times: [], values: [] });
  expect(lineOf(history, undefined).values).toEqual([null, null, null, null]);
});

test('errors of all kinds are added, and what was not read stays unknown', () => {
  expect(errorsOf(port)).toEqual([null, 3, 4, null]);
  const summary = summaryOf(port);
  expect(summary).toMatchObject({ average: 0.375, peak: 0.9, waiting: 0.05, errors: 7 });
  expect(summary.kinds).toEqual([['symbolErrors', 3], ['discards', 4]]);
  expect(summaryOf({ ...port, load: [null], peak: [null], waiting: [null], errors: [] })).toMatchObject({ average: null, peak: null, errors: 0 });
});

test('a slot that was not read is a gap in the line', () => {
  expect(polylines([0, 1, null, 1], 30, 10, 1)).toEqual(['0.0,10.0 10.0,0.0', '30.0,0.0']);
  expect(polylines([null, null], 30, 10, 1)).toEqual([]);
  expect(polylines([5], 30, 10, 0)[0]).not.toContain('NaN');
});

test('how far it reaches', () => {
  expect(reachText({ ...history, slots: 60 })).toBe('60 min in slots of 60 s');
  expect(reachText({ ...history, slots: 96, slotSeconds: 900 })).toBe('24 h in slots of 15 min');
  expect(reachText({ ...history, slots: 0, slotSeconds: null })).toBe('nothing yet');
});
