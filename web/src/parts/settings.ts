// What the user chose about the console itself, kept in the browser.
import { useSyncExternalStore } from 'react';
import type { Zone } from '../model/format';

export interface Settings {
  zone: Zone;
}

const KEY = 'railweave.settings';
const listeners = new Set<() => void>();

function read(): Settings {
  try {
    const stored = JSON.parse(localStorage.getItem(KEY) ?? '{}') as Partial<Settings>;
    return {
      zone: stored.zone === 'local' ? 'local' : 'utc',
    };
  } catch {
    return { zone: 'utc' };
  }
}

let settings = read();

export function change(what: Partial<Settings>) {
  settings = { ...settings, ...what };
  try {
    localStorage.setItem(KEY, JSON.stringify(settings));
  } catch {
    // A full or forbidden store: the choice holds until the page is closed.
  }
  for (const listener of listeners) listener();
}

export function useSettings(): Settings {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => settings,
  );
}
