// What was read while the page is open, bounded: the service keeps no history of counters yet.
const KEPT = 240;
const kept = new Map<string, Map<number, Record<string, number | null>>>();
const OBJECTS = 200;

// Readings of one object by their time in seconds; the same time is the same reading.
export function remember(object: string, seconds: number, values: Record<string, number | null>) {
  let readings = kept.get(object);
  if (!readings) {
    if (kept.size >= OBJECTS) kept.delete(kept.keys().next().value as string);
    readings = new Map();
    kept.set(object, readings);
  }
  readings.set(seconds, values);
  if (readings.size > KEPT) readings.delete(readings.keys().next().value as number);
}

export function remembered(object: string, name: string): { times: number[]; values: (number | null)[] } {
  const readings = [...(kept.get(object) ?? [])].sort((a, b) => a[0] - b[0]);
  return { times: readings.map(([at]) => at), values: readings.map(([, values]) => values[name] ?? null) };
}
