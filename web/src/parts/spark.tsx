// A small line over time, drawn by uPlot, which is loaded when the first is shown.
import 'uplot/dist/uPlot.min.css';
import { useEffect, useRef } from 'react';
import { polylines, type Line } from '../model/history';

// most: the highest value that there can be; not given: that of the line itself.
export function Spark({ series, label, color = '--accent', format, most }: { series: Line; label: string; color?: string; format: (value: number) => string; most?: number }) {
  const box = useRef<HTMLDivElement>(null);
  const known = series.values.filter((value) => value !== null);
  const last = series.values.findLast((value) => value !== null);
  const highest = known.length === 0 ? null : Math.max(...known);
  useEffect(() => {
    const element = box.current;
    if (!element || known.length === 0) return;
    let plot: { destroy: () => void } | undefined;
    let gone = false;
    void import('uplot').then(({ default: Plot }) => {
      if (gone) return;
      const ink = getComputedStyle(document.documentElement).getPropertyValue(color).trim();
      plot = new Plot(
        {
          width: element.clientWidth,
          height: 54,
          legend: { show: false },
          cursor: { show: false },
          axes: [{ show: false }, { show: false }],
          scales: { y: { range: (_, low, high) => [Math.min(0, low), Math.max(high * 1.1, (most ?? 0) / 20, 1e-9)] } },
          series: [{}, { stroke: ink, width: 1.5, fill: `color-mix(in srgb, ${ink} 14%, transparent)`, points: { show: known.length < 3, size: 4 } }],
        },
        [series.times, series.values],
        element,
      );
    });
    return () => {
      gone = true;
      plot?.destroy();
    };
  }, [series, color, most]);
  return (
    <figure style={{ margin: 0 }}>
      <figcaption className="row"><span className="dim">{label}</span><b>{last === null || last === undefined ? '–' : format(last)}</b></figcaption>
      <div className="spark" ref={box} role="img" aria-label={highest === null ? `${label}: nothing read yet` : `${label}: ${format(last!)} at last, ${format(highest)} at most`}>
        {known.length === 0 && <span className="dim">after two readings</span>}
      </div>
    </figure>
  );
}

// The same in a row of a table: small, without a library.
export function RowSpark({ values, most, label, color = 'var(--accent)' }: { values: (number | null)[]; most: number; label: string; color?: string }) {
  return (
    <svg className="row-spark" viewBox="0 0 120 20" preserveAspectRatio="none" role="img" aria-label={label}>
      {polylines(values, 120, 18, most).map((points, i) => (points.includes(' ') ? <polyline key={i} points={points} transform="translate(0 1)" fill="none" stroke={color} strokeWidth="1.5" vectorEffect="non-scaling-stroke" /> : <rect key={i} x={Number(points.split(',')[0]) - 1} y={Number(points.split(',')[1])} width="2" height="2" fill={color} />))}
    </svg>
  );
}
