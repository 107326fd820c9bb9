// The map holds to its bounds at every zoom, on any fabric; overlaps nothing; and is drawn from what is in view alone.
import { describe, expect, it } from 'vitest';
import { cameraOn, clipped, drawMap, fitCamera, foundIn, groupAt, MAX_PRIMITIVES, slotGrid, type Pen, type Scene } from './draw';
import { layoutMap, type FabricMap, type MapGroup } from './layout';
import { band, bundleInk, groupInk } from './paint';
import { cellAt, drawMatrix, gridOf, MATRIX_COLUMNS, matrixOf, matrixRows } from './matrix';
import { endsOf, MOST_ORDINARY, strandAt, strandsOf } from './strands';
import { SvgPen } from './svg_pen';

function group(kind: MapGroup['kind'], name: string, more: Partial<MapGroup> = {}): MapGroup {
  return { id: `${kind}:${name}`, kind, name, subnet: null, tier: null, region: null, members: 1, drained: 0, linksDown: 0, linksHeld: 0, linksUnknown: 0, gpus: 0, freeGpus: 0, tenants: [], ...more };
}

// As the service answers for a fabric of many regions: per region a leaf group and a spine group in each of `planes`.
function bigMap(regions: number, planes: number): FabricMap {
  const groups: MapGroup[] = [];
  const bundles: FabricMap['bundles'] = [];
  const bundle = (from: number, to: number) => bundles.push({ from, to, links: 256, rateGbps: 102_400, down: from % 97 === 0 ? 1 : 0, degraded: 0, held: 0, unknown: 0, drained: 0, utilisation: 0.5, errors: null, link: null });
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
  const bundle = (from: number, to: number, more = {}) => ({ from, to, links: 1, rateGbps: 400, down: 0, degraded: 0, held: 0, unknown: 0, drained: 0, utilisation: null, errors: null as FabricMap['bundles'][number]['errors'], link: `${from}--${to}`, ...more });
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
    context: { alarmed: new Map(), reserved: new Map(), tenants: [] }, selection: { hovered: null, found: '', over: null, chosen: null },
  };
}

describe('what is not seen', () => {
  const context = { alarmed: new Map(), reserved: new Map(), tenants: [] };
  const bundle = { ...smallMap().bundles[0]!, unknown: 1, utilisation: 0.9 };
  it('is never drawn as in order, nor with a load of earlier', () => {
    expect(groupInk(group('switch', 'leaf-1', { linksUnknown: 3 }), 'state', context)).toBe('unknown');
    expect(groupInk(group('switch', 'leaf-1', { linksUnknown: 3, linksDown: 1 }), 'state', context)).toBe('warn');
    expect(bundleInk(bundle, 'state', context)).toBe('unknown');
    expect(bundleInk(bundle, 'load', context)).toBe('line');
    expect(bundleInk({ ...bundle, unknown: 0, held: 1 }, 'state', context)).toBe('warn');
  });
});

describe('GPUs as slots', () => {
  it('are one each of a node or a rack, and shares of many nodes', () => {
    expect(slotGrid(group('node', 'n', { gpus: 8 }), 78, 34)).toMatchObject({ columns: 8, rows: 1, slots: 8 });
    const rack = slotGrid(group('rack', 'r', { members: 4, gpus: 32 }), 128, 76)!;
    expect(rack.slots).toBe(32);
    expect(rack.columns % 8).toBe(0); // those of a node stay beside each other
    expect(rack.columns * rack.rows).toBeGreaterThanOrEqual(32);
    expect(slotGrid(group('nodes', 'pod', { members: 128, gpus: 1024 }), 530, 400)!.slots).toBe(512);
    expect(slotGrid(group('rack', 'storage', { members: 4 }), 128, 76)).toBeNull();
    expect(slotGrid(group('switch', 's'), 78, 22)).toBeNull();
  });
  it('show whose they are: of a job, of others, drained', () => {
    const inks = (colouring: Scene['colouring'], more: Partial<MapGroup>) => {
      const pen = new SvgPen();
      const map = { ...smallMap(), groups: [group('rack', 'r', { members: 2, gpus: 16, freeGpus: 4, ...more })], bundles: [] };
      drawMap(pen as unknown as Pen, { ...scene(map, 1), colouring });
      return [...new Set([...pen.text(1280, 700, 'bg', 'sans').matchAll(/fill="([a-z0-9-]+)"/g)].map((match) => match[1]))];
    };
    expect(inks('job', { jobGpus: 4 })).toEqual(expect.arrayContaining(['accent', 'dim', 'line']));
    expect(inks('state', { drained: 1 })).toContain('drain');
    expect(inks('tenant', { tenants: [{ tenant: 'a', gpus: 12 }] }).some((ink) => ink!.startsWith('c'))).toBe(true);
  });
});

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

describe('the matrix as a table', () => {
  it('has a line for each cell', () => {
    const map = { ...smallMap(), groups: smallMap().groups.map((one) => (one.name.startsWith('leaf') ? { ...one, tier: 0 } : one)) };
    const rows = matrixRows(map, matrixOf(map)!);
    expect(rows[0]).toHaveLength(MATRIX_COLUMNS.length);
    expect(rows[0]!.slice(0, 4)).toEqual(['leaf-1', 'spine-1', 1, 400]);
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
    drawMap(pen as unknown as Pen, scene({ ...smallMap(), groups: smallMap().groups.map((one) => ({ ...one, gpus: 0, freeGpus: 0 })) }));
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

// As many devices as a real cluster of 194 hosts, each with a cable to four leaves of its region.
function clusterMap(): FabricMap {
  const groups: MapGroup[] = [];
  const bundles: FabricMap['bundles'] = [];
  const add = (one: MapGroup) => groups.push(one) - 1;
  const join = (from: number, to: number) => bundles.push({ from, to, links: 1, rateGbps: 400, down: 0, degraded: 0, held: 0, unknown: 0, drained: 0, utilisation: null, errors: null, link: `${groups[from]!.name}--${groups[to]!.name}` });
  const spines = Array.from({ length: 9 }, (_, i) => add(group('switch', `spine-${i + 1}`, { tier: 1 })));
  for (let region = 0; region < 8; region += 1) {
    const leaves = Array.from({ length: 4 }, (_, i) => add(group('switch', `leaf-${region + 1}-${i + 1}`, { tier: 0, region: `r${region}` })));
    for (const leaf of leaves) for (const spine of spines) join(leaf, spine);
    for (let i = 0; i < 24; i += 1) {
      const node = add(group('node', `dgx-${region * 24 + i + 1}`, { region: `r${region}`, gpus: 8, freeGpus: 8 }));
      for (const leaf of leaves) join(node, leaf);
    }
  }
  return { within: null, detail: 'devices', groups, bundles, topologyVersion: 1, seq: 1 };
}

class WritingPen extends RecordingPen {
  texts: string[] = [];
  override fillText(text?: string) { super.fillText(); this.texts.push(text ?? ''); }
}

describe('a real cluster', () => {
  const map = clusterMap();
  it('has a label on every device, seen as a whole', () => {
    const pen = new WritingPen();
    drawMap(pen as unknown as Pen, scene(map));
    for (const name of ['spine-9', 'leaf-8-4', 'dgx-1', 'dgx-192']) expect(pen.texts.some((text) => text !== '' && name.endsWith(text.replace('…', ''))), name).toBe(true);
  });
  it('brings what is found into view, at a size that can be read', () => {
    const at = foundIn(map, 'DGX-192');
    expect(at.map((one) => map.groups[one]!.name)).toEqual(['dgx-192']);
    const layout = layoutMap(map);
    const camera = cameraOn(layout, at, 1280, 700);
    const box = layout.boxes[at[0]!]!;
    expect((box.x + box.w / 2 - camera.x) * camera.scale).toBeCloseTo(640);
    expect((box.y + box.h / 2 - camera.y) * camera.scale).toBeCloseTo(350);
    expect(box.h * camera.scale).toBeGreaterThan(20);
    expect(foundIn(map, 'dgx-193')).toEqual([]);
    expect(foundIn(map, '')).toEqual([]);
  });
  it('finds the cable under the pointer, and what it joins', () => {
    const context = { alarmed: new Map(), reserved: new Map(), tenants: [] };
    const layout = layoutMap(map);
    const strands = strandsOf(map, layout, 'state', context, new Set());
    expect(strands).toHaveLength(map.bundles.length);
    const one = strands.at(-1)!;
    const found = strandAt(strands, one.x1 + (one.x2 - one.x1) * 0.3, one.y1 + (one.y2 - one.y1) * 0.3, 6)!;
    expect(map.bundles[found.bundles[0]!]!.link).toBe('dgx-192--leaf-8-4');
    expect(endsOf(map, found)).toBe('dgx-192 and leaf-8-4');
    expect(strandAt(strands, -500, -500, 6)).toBeNull();
  });
  it('is a picture that can be kept', () => {
    const pen = new SvgPen();
    drawMap(pen as unknown as Pen, scene(map));
    const svg = pen.text(1280, 700, '#fff', 'sans-serif');
    expect(svg.startsWith('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1280 700"')).toBe(true);
    expect(svg.match(/<text /g)!.length).toBeGreaterThan(200);
    expect(svg).not.toContain('NaN');
    pen.fillText('a<b>&"c"', 0, 0);
    expect(pen.text(1, 1, '#fff', 'sans-serif')).toContain('a&#60;b&#62;&#38;&#34;c&#34;');
  });
});

describe('the matrix', () => {
  it('has a cell for each two switches with cables, and knows which is pointed at', () => {
    const map = clusterMap();
    const matrix = matrixOf(map)!;
    expect([matrix.rows.length, matrix.columns.length, matrix.cells.length]).toEqual([32, 9, 288]);
    const grid = gridOf(matrix, 1280, 700);
    for (const cell of [matrix.cells[0]!, matrix.cells[150]!]) expect(cellAt(matrix, grid, grid.left + (cell.column + 0.5) * grid.w, grid.top + (cell.row + 0.5) * grid.h)).toBe(cell.bundle);
    expect(cellAt(matrix, grid, 2, 2)).toBeNull();
    const pen = new WritingPen();
    const shown = { colouring: 'state' as const, context: { alarmed: new Map(), reserved: new Map(), tenants: [] }, color: (ink: string) => ink, font: 'sans', marked: 3, found: new Set<number>() };
    expect(drawMatrix(pen as unknown as Pen, map, matrix, grid, shown)).toBe(pen.calls);
    expect(pen.texts).toContain('leaf-8-4');
    expect(matrixOf({ ...map, bundles: [] })).toBeNull();
  });
});

describe('too many cables to be told apart', () => {
  const map = clusterMap();
  const leaves = map.groups.flatMap((one, at) => (one.tier === 0 ? [at] : []));
  for (let i = 0; i < 2 * MOST_ORDINARY; i += 1) map.bundles.push({ ...map.bundles[0]!, from: leaves[i % leaves.length]!, to: i % 9, link: null });
  map.bundles.push({ ...map.bundles[0]!, down: 1 });
  const context = { alarmed: new Map(), reserved: new Map(), tenants: [] };
  it('are one wide line for each two cells, but those that tell something', () => {
    const strands = strandsOf(map, layoutMap(map), 'state', context, new Set());
    expect(strands.length).toBeLessThan(40);
    expect(strands.filter((strand) => !strand.band).map((strand) => strand.ink)).toEqual(['bad']);
    expect(strands.reduce((sum, strand) => sum + strand.bundles.length, 0)).toBe(map.bundles.length);
    expect(endsOf(map, strands.find((strand) => strand.band)!)).toBe('r0 tier 0 and others tier 1');
  });
  it('are lines of their own at what is pointed at', () => {
    const strands = strandsOf(map, layoutMap(map), 'state', context, new Set([leaves[0]!]));
    expect(strands.filter((strand) => !strand.band).length).toBeGreaterThan(30);
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
