// Filters and choices of a view live in its URL, so that a link shows what its sender saw.
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useCallback } from 'react';

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

// One parameter and how to set it; the fallback is not written to the URL.
export function useParam(name: string, fallback = ''): [string, (value: string) => void] {
  const search = useSearch({ strict: false }) as Search;
  const navigate = useNavigate();
  const set = useCallback(
    (value: string) =>
      void navigate({
        to: '.',
        search: ((before: Search) => ({ ...before, [name]: value === fallback ? undefined : value })) as never,
        replace: true,
      }),
    [navigate, name, fallback],
  );
  return [search[name] ?? fallback, set];
}
