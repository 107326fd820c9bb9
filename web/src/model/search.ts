// Ranking what the search found.

export interface Found {
  kind: 'job' | 'switch' | 'node' | 'link' | 'tenant';
  id: string;
  name: string;
  note?: string | undefined;
}

// A LID or a GUID, which the service looks up.
export function isAddress(text: string): boolean {
  return /^lid:\d+$/i.test(text) || /^(0x)?[0-9a-f]{16}(\/\d+)?$/i.test(text);
}

function score(item: Found, needle: string): number {
  const note = item.note?.toLowerCase() ?? '';
  const names = [item.name.toLowerCase(), item.id.toLowerCase()];
  if (names.includes(needle) || note === needle) return 0;
  if (names.some((name) => name.startsWith(needle))) return 1;
  if (names.some((name) => name.includes(needle))) return 2;
  return note.includes(needle.replace(/^0x/, '')) ? 3 : -1;
}

export function rankMatches(text: string, items: Found[], most: number): Found[] {
  const needle = text.trim().toLowerCase();
  const seen = new Set<string>();
  return items
    .map((item) => ({ item, rank: score(item, needle) }))
    .filter(({ item, rank }) => {
      const key = `${item.kind}/${item.id}`;
      if (rank < 0 || seen.has(key)) return false;
      seen.add(key);
      return true;
    })
    .sort((a, b) => a.rank - b.rank || a.item.name.length - b.item.name.length || a.item.name.localeCompare(b.item.name))
    .slice(0, most)
    .map(({ item }) => item);
}
