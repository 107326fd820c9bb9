// Lines over time with axes: units, ticks, the scale of time; what is under the pointer is read out. SVG, so that it prints,
// is sharp at any zoom and can be kept.
import { useEffect, useMemo, useRef, useState } from 'react';
import { useSettings } from './settings';
import { spanText, timeTicks, valueTicks } from '../model/plots/axes';
import { time } from '../model/format';
import type { Line } from '../model/plots/history';

export interface PlotLine {
  name: string;
  color: string; // a CSS colour
  series: Line;
}

const LEFT = 62;
const RIGHT = 10;
const TOP = 8;
const BOTTOM = 20;
const TICK_PX = 78; // of time, at least

// Parts of a line between what was not read.
function pieces({ times, values }: Line, x: (at: number) => number, y: (value: number) => number): string[][] {
  const found: string[][] = [[]];
  values.forEach((value, i) => {
    if (value === null) found.push([]);
    else found.at(-1)!.push(`${x(times[i]!).toFixed(1)},${y(value).toFixed(1)}`);
  });
  return found.filter((piece) => piece.length > 0);
}

// most: the highest value that there can be, shown where the lines are near it. whole: only whole numbers are told.
export function Plot({ label, lines, format, most, whole = false, height = 150 }: { label: string; lines: PlotLine[]; format: (value: number) => string; most?: number; whole?: boolean; height?: number }) {
  const { zone } = useSettings();
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  const [over, setOver] = useState<number | null>(null);
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => setWidth(entry!.contentRect.width));
    observer.observe(box.current!);
    return () => observer.disconnect();
  }, []);
  const times = lines[0]?.series.times ?? [];
  const known = lines.flatMap((line) => line.series.values.filter((value) => value !== null));
  const [from, to] = [times[0] ?? 0, times.at(-1) ?? 1];
  const highest = Math.max(0, ...known);
  const values = useMemo(() => valueTicks(most !== undefined && highest > most * 0.5 ? Math.max(most, highest) : highest, 4, whole), [highest, most, whole]);
  const top = values.at(-1)!;
  const inner = Math.max(1, width - LEFT - RIGHT);
  const x = (at: number) => LEFT + ((at - from) / Math.max(to - from, 1)) * inner;
  const y = (value: number) => TOP + (1 - value / top) * (height - TOP - BOTTOM);
  const ticks = useMemo(() => timeTicks(from, to, Math.max(2, Math.floor(inner / TICK_PX)), zone), [from, to, inner, zone]);
  const at = over === null ? times.length - 1 : over;
  const said = (line: PlotLine, i: number) => (line.series.values[i] === null || line.series.values[i] === undefined ? '–' : format(line.series.values[i]!));
  const lastOf = (line: PlotLine) => line.series.values.findLast((value) => value !== null);
  const told = lines.map((line) => `${line.name}: ${lastOf(line) === undefined ? 'nothing read yet' : `${format(lastOf(line)!)} at last, ${format(Math.max(...line.series.values.map((value) => value ?? 0)))} at most`}`).join('; ');
  const nearest = (px: number) => {
    const wanted = from + ((px - LEFT) / inner) * (to - from);
    let best = 0;
    times.forEach((one, i) => { if (Math.abs(one - wanted) < Math.abs(times[best]! - wanted)) best = i; });
    return best;
  };
  return (
    <figure className="plot" data-testid="plot">
      <figcaption>
        <b>{label}</b>
        {lines.map((line) => <span key={line.name}><i style={{ background: line.color }} />{line.name} {over === null ? (lastOf(line) === undefined ? '–' : format(lastOf(line)!)) : said(line, at)}</span>)}
        <span className="dim">{over === null ? (known.length > 0 ? `over ${spanText(to - from)}` : '') : time(new Date(times[at]! * 1000).toISOString(), zone)}</span>
      </figcaption>
      <div ref={box} style={{ height }}>
        {known.length === 0 ? (
          <p className="dim" role="img" aria-label={`${label}; ${told}`}>Shown after two readings.</p>
        ) : width > 0 && (
          <svg width={width} height={height} role="img" aria-label={`${label}; ${told}`} onPointerMove={(event) => setOver(nearest(event.clientX - event.currentTarget.getBoundingClientRect().left))} onPointerLeave={() => setOver(null)}>
            {values.map((value) => (
              <g key={value}>
                <line x1={LEFT} x2={width - RIGHT} y1={y(value)} y2={y(value)} stroke="var(--line)" />
                <text x={LEFT - 6} y={y(value)} textAnchor="end" dominantBaseline="central">{format(value)}</text>
              </g>
            ))}
            {ticks.map((tick) => (
              <g key={tick.at}>
                <line x1={x(tick.at)} x2={x(tick.at)} y1={height - BOTTOM} y2={height - BOTTOM + 4} stroke="var(--line-2)" />
                <text x={Math.min(Math.max(x(tick.at), LEFT + 2), width - 24)} y={height - 6} textAnchor="middle">{tick.text}</text>
              </g>
            ))}
            {lines.map((line) => pieces(line.series, x, y).map((piece, i) => (piece.length > 1 ? <polyline key={`${line.name}${i}`} points={piece.join(' ')} fill="none" stroke={line.color} strokeWidth="1.6" /> : <circle key={`${line.name}${i}`} cx={piece[0]!.split(',')[0]} cy={piece[0]!.split(',')[1]} r="2" fill={line.color} />)))}
            {over !== null && <line x1={x(times[at]!)} x2={x(times[at]!)} y1={TOP} y2={height - BOTTOM} stroke="var(--dim)" strokeDasharray="3 3" />}
          </svg>
        )}
      </div>
    </figure>
  );
}
