import { describe, expect, it } from 'vitest';
import type { Pen } from '../map/draw';
import { drawPairs, nodeOf, pairAt, pairGrid, pairRows, stepOf, totals, type JobTraffic } from './pairs';
import { SvgPen } from '../map/svg_pen';

const traffic: JobTraffic = {
  job: 'job-000001', by: 'gpu', ends: ['n1/0', 'n1/1', 'n2/0'], incomplete: false, assumed: false, seq: 1, roles: [],
  pairs: [
    { from: 0, to: 1, bytes: 1000, gbps: 10, groups: ['tensor'], over: 'nvlink' },
    { from: 0, to: 2, bytes: 100, gbps: 1, groups: ['data', 'pipeline'], over: 'network' },
    { from: 2, to: null, bytes: 50, gbps: 0.5, groups: ['data'], over: 'network' },
  ],
};

describe('a matrix of pairs', () => {
  it('finds the pair under a point, as it is drawn', () => {
    const grid = pairGrid(3, 400, 300);
    const middle = (i: number) => (i + 0.5) * grid.cell;
    expect(pairAt(traffic, grid, grid.left + middle(2), grid.top + middle(0))).toBe(traffic.pairs[1]);
    expect(pairAt(traffic, grid, grid.left + middle(0), grid.top + middle(2))).toBeNull();
    const pen = new SvgPen();
    expect(drawPairs(pen as unknown as Pen, traffic, grid, { colouring: 'over', color: (ink) => ink, font: 'sans', marked: traffic.pairs[0]! })).toBeLessThan(12);
    const svg = pen.text(400, 300, '#fff', 'sans-serif');
    expect(svg).toContain('n2/0');
    expect(svg).toContain('fill="c3"');
  });
  it('fits its box, however many there are', () => {
    for (const [ends, width] of [[8, 1200], [256, 1200], [1024, 340]] as const) {
      const grid = pairGrid(ends, width, 600);
      expect(grid.left + grid.cell * ends).toBeLessThanOrEqual(width + ends * 0.5);
    }
  });
  it('is a table, too, and adds up', () => {
    expect(pairRows(traffic)[2]).toEqual(['n2/0', 'switches', 50, 0.5, 'network', 'data']);
    expect(totals(traffic)).toEqual([{ over: 'nvlink', pairs: 1, bytes: 1000 }, { over: 'network', pairs: 2, bytes: 150 }]);
    expect([0, 0.1, 1].map(stepOf)).toEqual([0, 1, 4]);
    expect(nodeOf(traffic, 2)).toBe('n2');
  });
});
