// A small line over time, drawn by uPlot, which is loaded when the first is shown.
import 'uplot/dist/uPlot.min.css';
import { useEffect, useRef } from 'react';

export interface Series {
  times: number[]; // seconds
  values: (number | null)[];
}

export function Spark({ series, label, color = '--accent', format }: { series: Series; label: string; color?: string; format: (value: number) => string }) {
  const box = useRef<HTMLDivElement>(null);
  const last = series.values.at(-1);
  useEffect(() => {
    const element = box.current;
    if (!element || series.times.length < 2) return;
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
          scales: { y: { range: (_, low, high) => [Math.min(0, low), Math.max(high * 1.1, 1e-9)] } },
          series: [{}, { stroke: ink, width: 1.5, fill: `color-mix(in srgb, ${ink} 14%, transparent)`, points: { show: false } }],
        },
        [series.times, series.values],
        element,
      );
    });
    return () => {
      gone = true;
      plot?.destroy();
    };
  }, [series, color]);
  return (
    <figure style={{ margin: 0 }}>
      <figcaption className="row"><span className="dim">{label}</span><b>{last === null || last === undefined ? '–' : format(last)}</b></figcaption>
      <div className="spark" ref={box} role="img" aria-label={`${label}, ${series.times.length} readings`}>
        {series.times.length < 2 && <span className="dim">after two readings</span>}
      </div>
    </figure>
  );
}
