// A small line in a row of a table.
import { polylines } from '../model/plots/history';

export function RowSpark({ values, most, label, color = 'var(--accent)' }: { values: (number | null)[]; most: number; label: string; color?: string }) {
  return (
    <svg className="row-spark" viewBox="0 0 120 20" preserveAspectRatio="none" role="img" aria-label={label}>
      {polylines(values, 120, 18, most).map((points, i) => (points.includes(' ') ? <polyline key={i} points={points} transform="translate(0 1)" fill="none" stroke={color} strokeWidth="1.5" vectorEffect="non-scaling-stroke" /> : <rect key={i} x={Number(points.split(',')[0]) - 1} y={Number(points.split(',')[1])} width="2" height="2" fill={color} />))}
    </svg>
  );
}
