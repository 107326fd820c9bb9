// One colour per tenant, group or rank coordinate, the same everywhere: by position in the sorted names.
export const PALETTE = ['var(--c1)', 'var(--c2)', 'var(--c3)', 'var(--c4)', 'var(--c5)', 'var(--c6)', 'var(--c7)', 'var(--c8)'];

export function paletteColor(index: number): string {
  return PALETTE[((index % PALETTE.length) + PALETTE.length) % PALETTE.length]!;
}

export function colorOf(names: string[], name: string): string {
  const index = [...new Set(names)].sort().indexOf(name);
  return index < 0 ? 'var(--dim)' : paletteColor(index);
}
