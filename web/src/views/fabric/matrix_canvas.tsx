// The matrix drawn: pointing tells, a click chooses.
import { useComputedColorScheme } from '@mantine/core';
import { useMemo, useRef, useState, type PointerEvent } from 'react';
import type { Pen } from '../../model/map/draw';
import { foundIn } from '../../model/map/draw';
import type { FabricMap } from '../../model/map/layout';
import { csv } from '../../model/csv';
import { cellAt, drawMatrix, gridOf, MATRIX_COLUMNS, matrixOf, matrixRows } from '../../model/map/matrix';
import type { Colouring, Ink, PaintContext } from '../../model/map/paint';
import type { Strand } from '../../model/map/strands';
import { SvgPen } from '../../model/map/svg_pen';
import { Empty } from '../../parts/basics';
import { useBoxSize, useDrawing } from '../../parts/canvas';
import { saveBlob, saveFile } from '../../parts/table';
import { CableTip, Chosen } from './cable';

const strandOf = (map: FabricMap, bundle: number): Strand => ({ bundles: [bundle], links: map.bundles[bundle]!.links, ink: 'line', band: false, x1: 0, y1: 0, x2: 0, y2: 0 });

export function MatrixCanvas({ map, colouring, context, found }: { map: FabricMap; colouring: Colouring; context: PaintContext; found: string }) {
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const scheme = useComputedColorScheme('dark');
  const matrix = useMemo(() => matrixOf(map), [map]);
  const size = useBoxSize(box);
  const [over, setOver] = useState<number | null>(null);
  const [chosen, setChosen] = useState<number | null>(null);
  const [pointer, setPointer] = useState({ x: 0, y: 0 });
  const grid = useMemo(() => matrix && gridOf(matrix, size.width, size.height), [matrix, size]);

  const draw = (pen: Pen, marked: number | null) => {
    const style = getComputedStyle(document.documentElement);
    const color = (ink: Ink | 'text') => style.getPropertyValue(`--${ink}`).trim();
    return drawMatrix(pen, map, matrix!, grid!, { colouring, context, color, font: style.getPropertyValue('--font-ui'), marked, found: new Set(foundIn(map, found)) });
  };
  useDrawing(canvas, size, matrix && grid ? (pen) => draw(pen, over ?? chosen) : null, [map, matrix, grid, colouring, context, over, chosen, found, scheme]);

  const under = (event: PointerEvent) => {
    const at = canvas.current!.getBoundingClientRect();
    const place = { x: event.clientX - at.left, y: event.clientY - at.top };
    setPointer(place);
    return matrix && grid ? cellAt(matrix, grid, place.x, place.y) : null;
  };
  const save = (kind: 'svg' | 'png' | 'csv') => {
    if (!matrix) return;
    if (kind === 'png') return canvas.current!.toBlob((blob) => blob && saveBlob('matrix.png', blob));
    if (kind === 'csv') return saveFile('matrix.csv', csv(MATRIX_COLUMNS, matrixRows(map, matrix)), 'text/csv');
    const pen = new SvgPen();
    draw(pen, chosen);
    saveFile('matrix.svg', pen.text(size.width, size.height, getComputedStyle(document.documentElement).getPropertyValue('--panel').trim(), 'sans-serif'), 'image/svg+xml');
  };
  return (
    <div className="map-box" ref={box}>
      {matrix && (
        <div className="map-tools">
          <button type="button" className="link-button" aria-label="Save the matrix as SVG" onClick={() => save('svg')}>SVG</button>
          <button type="button" className="link-button" aria-label="Save the matrix as PNG" onClick={() => save('png')}>PNG</button>
          <button type="button" className="link-button" aria-label="Save the matrix as CSV" onClick={() => save('csv')}>CSV</button>
        </div>
      )}
      {matrix ? (
        <canvas
          ref={canvas}
          role="img"
          aria-label={`Matrix of ${matrix.rows.length} leaves and ${matrix.columns.length} spines: ${matrix.cells.length} cells with cables. The table of links lists the same.`}
          data-testid="matrix"
          onPointerMove={(event) => setOver(under(event))}
          onPointerLeave={() => setOver(null)}
          onClick={(event) => setChosen(under(event as unknown as PointerEvent))}
        />
      ) : (
        <Empty title="There are no two tiers of switches here" />
      )}
      {chosen !== null && map.bundles[chosen] && <Chosen strand={strandOf(map, chosen)} map={map} close={() => setChosen(null)} />}
      {over !== null && over !== chosen && <CableTip strand={strandOf(map, over)} map={map} at={pointer} width={size.width} />}
    </div>
  );
}
