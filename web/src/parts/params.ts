// Filters and choices of a view live in its URL, so that a link shows what its sender saw.
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useCallback, useState } from 'react';

export type Search = Record<string, string | undefined>;

export function parseSearch(text: string): Search {
  return Object.fromEntries(new URLSearchParams(text));
}

export function stringifySearch(search: Record<string, unknown>): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(search)) {
    if (value !== undefined && value !== null && value !== '') params.set(name, String(value));
  }
  const text = params.toString();
  return text ? `?${text}` : '';
}

export function useParams_() {
  return useSearch({ strict: false }) as Search;
}

// What is shown while one types: it is ahead of the URL, which follows later or passes a value over. A URL that it did not write
// (a link, the back button) leads it.
export function useAhead<T>(url: T): [T, (value: T) => void] {
  const text = JSON.stringify(url);
  // The first of `written` is the URL's, those after it are still on their way.
  const [{ shown, written }, become] = useState({ shown: url, written: [text] });
  if (written[0] !== text) {
    const arrived = written.indexOf(text);
    become(arrived < 0 ? { shown: url, written: [text] } : { shown, written: written.slice(arrived) });
  }
  const write = useCallback((value: T) => {
    const next = JSON.stringify(value);
    become((before) => (before.written.at(-1) === next ? before : { shown: value, written: [...before.written, next] }));
  }, []);
  return [shown, write];
}

// One parameter and how to set it; the fallback is not written to the URL.
export function useParam(name: string, fallback = ''): [string, (value: string) => void] {
  const search = useSearch({ strict: false }) as Search;
  const navigate = useNavigate();
  const [shown, write] = useAhead(search[name] ?? fallback);
  const set = useCallback(
    (value: string) => {
      write(value);
      void navigate({
        to: '.',
        search: ((before: Search) => ({ ...before, [name]: value === fallback ? undefined : value })) as never,
        replace: true,
      });
    },
    [navigate, write, name, fallback],
  );
  return [shown, set];
}
