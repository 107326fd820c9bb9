// The map holds to its bounds at every zoom, on any fabric; overlaps nothing; and is drawn from what is in view alone.
import { describe, expect, it } from 'vitest';
import { clipped, drawMap, fitCamera, groupAt, MAX_PRIMITIVES, type Pen, type Scene } from './map_draw';
import { layoutMap, type FabricMap, type MapGroup } from './map_layout';
import { band, bundleInk, groupInk } from './map_paint';

function group(kind: MapGroup['kind'], name: string, more: Partial<MapGroup> = {}): MapGroup {
  return { id: `${kind}:${name}`, kind, name, subnet: null, tier: null, region: null, members: 1, drained: 0, linksDown: 0, gpus: 0, freeGpus: 0, tenants: [], ...more };
}

// As the service answers for a fabric of many regions: per region a leaf group and a spine group in each of `planes`.
function bigMap(regions: number, planes: number): FabricMap {
  const groups: MapGroup[] = [];
  const bundles: FabricMap['bundles'] = [];
  const bundle = (from: number, to: number) => bundles.push({ from, to, links: 256, rateGbps: 102_400, down: from % 97 === 0 ? 1 : 0, degraded: 0, drained: 0, utilisation: 0.5, errors: null, link: null });
  for (let plane = 0; plane < planes; plane += 1) groups.push(group('switches', '', { id: `core-${plane}`, subnet: `plane-${plane}`, tier: 2, members: 256 }));
  for (let region = 0; region < regions; region += 1) {
    const name = `pod-${region + 1}`;
    const nodes = groups.push(group('nodes', name, { id: `nodes:${name}`, region: name, members: 128, gpus: 1024, freeGpus: region * 8 })) - 1;
    for (let plane = 0; plane < planes; plane += 1) {
      const leaf = groups.push(group('switches', name, { id: `leaf-${plane}-${name}`, subnet: `plane-${plane}`, tier: 0, region: name, members: 4 })) - 1;
      const spine = groups.push(group('switches', name, { id: `spine-${plane}-${name}`, subnet: `plane-${plane}`, tier: 1, region: name, members: 4 })) - 1;
      bundle(nodes, leaf);
      bundle(leaf, spine);
      bundle(spine, plane);
    }
  }
  return { within: null, detail: 'regions', groups, bundles, topologyVersion: 1, seq: 1 };
}

function smallMap(): FabricMap {
  const groups = [group('switch', 'spine-1', { tier: 1 }), group('switch', 'leaf-1', { tier: 0, region: 'A' }), group('switch', 'leaf-2', { tier: 0, region: 'B' }), group('node', 'n1', { region: 'A', gpus: 8, freeGpus: 2 }), group('node', 'n2', { region: 'B', gpus: 8, freeGpus: 8 })];
  const bundle = (from: number, to: number, more = {}) => ({ from, to, links: 1, rateGbps: 400, down: 0, degraded: 0, drained: 0, utilisation: null, errors: null as FabricMap['bundles'][number]['errors'], link: `${from}--${to}`, ...more });
  return { within: null, detail: 'devices', groups, bundles: [bundle(0, 1), bundle(0, 2), bundle(1, 3), bundle(2, 4, { down: 1 })], topologyVersion: 1, seq: 1 };
}

class RecordingPen {
  calls = 0;
  lines = 0;
  strokeStyle: unknown; fillStyle: unknown; lineWidth = 1; font = ''; globalAlpha = 1; textAlign: CanvasTextAlign = 'left'; textBaseline: CanvasTextBaseline = 'middle';
  beginPath() {} moveTo() {} lineTo() { this.lines += 1; } bezierCurveTo() {} stroke() { this.calls += 1; } fillRect() { this.calls += 1; } strokeRect() { this.calls += 1; }
  fillText() { this.calls += 1; } clearRect() {} setLineDash() {} setTransform() {} save() {} restore() {} measureText() { return {} as TextMetrics; }
}

function scene(map: FabricMap, zoom = 1): Scene {
  const layout = layoutMap(map);
  const fit = fitCamera(layout, 1280, 700);
  const scale = fit.scale * zoom;
  return {
    map, layout, width: 1280, height: 700, colouring: 'state', font: 'sans', color: (ink) => ink,
    camera: { scale, x: fit.x + 640 / fit.scale - 640 / scale, y: fit.y + 350 / fit.scale - 350 / scale },
    context: { alarmed: new Map(), reserved: new Map(), tenants: [] }, selection: { hovered: null, found: '' },
  };
}

describe('the layout', () => {
  for (const [name, map] of [['a small fabric', smallMap()], ['128 regions of 8 planes', bigMap(128, 8)]] as const) {
    it(`puts nothing over anything in ${name}`, () => {
      const { boxes, width, height } = layoutMap(map);
      expect(boxes).toHaveLength(map.groups.length);
      for (const box of boxes) {
        expect(box.x).toBeGreaterThanOrEqual(-0.01);
        expect(box.x + box.w).toBeLessThanOrEqual(width + 0.01);
        expect(box.y + box.h).toBeLessThanOrEqual(height + 0.01);
      }
      const byPlace = [...boxes].sort((a, b) => a.y - b.y || a.x - b.x);
      for (let i = 1; i < byPlace.length; i += 1) {
        const [a, b] = [byPlace[i - 1]!, byPlace[i]!];
        if (a.y === b.y) expect(a.x + a.w).toBeLessThan(b.x);
      }
    });
  }
  it('puts spines above leaves above nodes, and a region in its column', () => {
    const { boxes, columns } = layoutMap(smallMap());
    const [spine, leaf1, leaf2, n1, n2] = boxes as [typeof boxes[0], typeof boxes[0], typeof boxes[0], typeof boxes[0], typeof boxes[0]];
    expect(spine!.y).toBeLessThan(leaf1!.y);
    expect(leaf1!.y).toBeLessThan(n1!.y);
    expect(leaf1!.y).toBe(leaf2!.y);
    expect(columns.map((column) => column.name)).toEqual(['A', 'B']);
    for (const [box, column] of [[leaf1, columns[0]], [n1, columns[0]], [leaf2, columns[1]], [n2, columns[1]]] as const) {
      expect(box!.x).toBeGreaterThanOrEqual(column!.x);
      expect(box!.x + box!.w).toBeLessThanOrEqual(column!.x + column!.w);
    }
  });
  it('is the same for the same map', () => {
    expect(layoutMap(bigMap(16, 2))).toEqual(layoutMap(bigMap(16, 2)));
  });
});

describe('the drawing', () => {
  it('stays within its bound at every zoom of 100,000 GPUs, in few calls', () => {
    const map = bigMap(100, 8);
    expect(map.groups.reduce((sum, one) => sum + one.gpus, 0)).toBeGreaterThan(100_000);
    for (const zoom of [0.25, 1, 2, 4, 8, 16, 32]) {
      const pen = new RecordingPen();
      const drawn = drawMap(pen as unknown as Pen, scene(map, zoom));
      expect(drawn.primitives, `zoom ${zoom}`).toBeGreaterThan(0);
      expect(drawn.primitives, `zoom ${zoom}`).toBeLessThanOrEqual(MAX_PRIMITIVES);
      expect(pen.calls, `zoom ${zoom}`).toBe(drawn.calls);
    }
  });
  it('leaves out what is out of view', () => {
    const map = bigMap(100, 8);
    const all = drawMap(new RecordingPen() as unknown as Pen, scene(map)).primitives;
    const near = drawMap(new RecordingPen() as unknown as Pen, scene(map, 30)).primitives;
    expect(near).toBeLessThan(all / 4);
  });
  it('draws each bundle as one line', () => {
    const pen = new RecordingPen();
    drawMap(pen as unknown as Pen, scene(smallMap()));
    expect(pen.lines).toBe(4);
  });
  it('finds what is under the pointer', () => {
    const small = scene(smallMap());
    small.layout.boxes.forEach((box, i) => {
      const px = (box.x + box.w / 2 - small.camera.x) * small.camera.scale;
      const py = (box.y + box.h / 2 - small.camera.y) * small.camera.scale;
      expect(groupAt(small.layout, small.camera, px, py)).toBe(i);
    });
    expect(groupAt(small.layout, small.camera, -50, -50)).toBeNull();
  });
  it('keeps the end of a name', () => {
    expect(clipped('leaf-3-07', 20)).toBe('leaf-3-07');
    expect(clipped('leaf-3-07', 5)).toBe('…3-07');
    expect(clipped('leaf-3-07', 2)).toBe('');
  });
});

describe('the colours', () => {
  const context = { alarmed: new Map([['leaf-1', 'critical'], ['0--2', 'warning']] as const), reserved: new Map([['0--1', { fullest: 0.97, ofLink: 0.5 }]]), tenants: ['b', 'a'] };
  const map = smallMap();
  it('show bands of load', () => {
    expect([0, 0.59, 0.6, 0.8, 0.81, 0.95, 0.96].map(band)).toEqual(['ok', 'ok', 'accent', 'accent', 'warn', 'warn', 'bad']);
  });
  it('show what is wrong before anything else', () => {
    expect(groupInk(map.groups[1]!, 'state', context)).toBe('bad');
    expect(bundleInk(map.bundles[3]!, 'state', context)).toBe('bad');
    expect(bundleInk(map.bundles[1]!, 'state', context)).toBe('warn');
    expect(bundleInk({ ...map.bundles[0]!, drained: 1 }, 'state', context)).toBe('drain');
    expect(bundleInk(map.bundles[0]!, 'reserved', context)).toBe('bad');
    expect(bundleInk(map.bundles[0]!, 'load', context)).toBe('line');
  });
  it('show the worst errors of a bundle, and what is used beside what is reserved', () => {
    const worst = (grade: 'none' | 'some' | 'warning' | 'critical') => bundleInk({ ...map.bundles[0]!, links: 64, link: null, errors: { grade, perHour: 1, links: 1 } }, 'errors', context);
    expect((['none', 'some', 'warning', 'critical'] as const).map(worst)).toEqual(['ok', 'accent', 'warn', 'bad']);
    expect(bundleInk(map.bundles[0]!, 'errors', context)).toBe('line'); // not read
    const used = (utilisation: number | null, link = '0--1') => bundleInk({ ...map.bundles[0]!, down: 0, drained: 0, degraded: 0, link, utilisation }, 'against', context);
    expect([null, 0.2, 0.45, 0.6].map((share) => used(share))).toEqual(['line', 'ok', 'warn', 'bad']);
    expect([used(0.3, '1--3'), used(0, '1--3')]).toEqual(['dim', 'line']);
  });
  it('give a tenant one colour', () => {
    const held = (tenant: string) => groupInk({ ...map.groups[3]!, tenants: [{ tenant, gpus: 4 }] }, 'tenant', context);
    expect(held('a')).toBe('c1');
    expect(held('b')).toBe('c2');
  });
});
