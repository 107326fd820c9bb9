// Views that are remembered by a name: a path with its filters. The name is in the address too, so that who is sent the link
// sees what it is called, and can remember it.

export interface SavedView {
  name: string;
  to: string; // path below /console, with its search
}

export const NAME_PARAM = 'saved';
export const MOST_VIEWS = 50;
const MOST_NAME = 60;

export function viewsFrom(text: string | null): SavedView[] {
  try {
    const read = JSON.parse(text ?? '[]') as unknown;
    if (!Array.isArray(read)) return [];
    return read.filter((view): view is SavedView => typeof view?.name === 'string' && typeof view?.to === 'string' && view.to.startsWith('/')).slice(0, MOST_VIEWS);
  } catch {
    return [];
  }
}

export const nameOf = (text: string) => text.trim().slice(0, MOST_NAME);

// The address of what is looked at, under a name; without one it is what is compared.
export function addressOf(path: string, search: Record<string, string | undefined>, name?: string): string {
  const params = new URLSearchParams();
  for (const [key, value] of Object.entries(search).sort(([a], [b]) => a.localeCompare(b))) if (value && key !== NAME_PARAM) params.set(key, value);
  if (name) params.set(NAME_PARAM, name);
  const text = params.toString();
  return `${path || '/'}${text ? `?${text}` : ''}`;
}

// Of the same name it replaces; the newest first.
export const remembered = (views: SavedView[], view: SavedView): SavedView[] => [view, ...views.filter((one) => one.name !== view.name)].slice(0, MOST_VIEWS);
export const forgotten = (views: SavedView[], name: string): SavedView[] => views.filter((one) => one.name !== name);

// How a view stands to what is remembered under its name.
export function standing(views: SavedView[], name: string, address: string): 'remembered' | 'changed' | 'new' {
  const own = views.find((one) => one.name === name);
  return own === undefined ? 'new' : own.to === address ? 'remembered' : 'changed';
}
