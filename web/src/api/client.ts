// The REST contract as types, and one client for all of the console. Problem documents become ProblemError.
import createClient, { type Middleware } from 'openapi-fetch';
import type { components, paths } from './schema';

export type Schema = components['schemas'] & { Leader: paths['/v1/leader']['get']['responses'][200]['content']['application/json'] };
// Every connected pair is reached, without loops of packets or cycles of credits.
export const isVerified = (audit: Schema['RoutesAudit']) => audit.sound;
export type Problem = Schema['Problem'];

export class ProblemError extends Error {
  constructor(
    readonly status: number,
    readonly problem: Partial<Problem>,
  ) {
    super(problem.detail ?? `the service answered ${status}`);
  }
  get code() {
    return this.problem.code ?? `http.${this.status}`;
  }
  get hint() {
    return this.problem.hint;
  }
}

// The token of this tab, kept until the tab is closed; a service that asks for none answers without.
const KEY = 'railweave.token';
let token = sessionStorage.getItem(KEY);
let refused: Partial<Problem> | null = null; // why the last request with this token got a 401
const listeners = new Set<() => void>();
const tell = () => listeners.forEach((listener) => listener());

export const signIn = {
  subscribe: (listener: () => void) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  },
  // Set while the service asks for a token: none was shown, or one that is not valid.
  refused: () => refused,
  hasToken: () => token !== null,
  // Forgets the token, and asks for one.
  out: (why: Partial<Problem> = { code: 'auth.missing' }) => {
    signIn.use(null);
    refused = why;
    tell();
  },
  // A newer token of the same user.
  renew: (given: string) => {
    token = given;
    sessionStorage.setItem(KEY, given);
    refused = null;
    tell();
  },
  use: (given: string | null) => {
    token = given;
    if (given === null) sessionStorage.removeItem(KEY);
    else sessionStorage.setItem(KEY, given);
    refused = null;
    may = () => true;
    tell();
  },
};
export function requestHeaders(): Record<string, string> {
  return token ? { Authorization: `Bearer ${token}` } : {};
}
export async function noteRefusal(response: Response) {
  if (response.status !== 401) return;
  refused = ((await response.clone().json().catch(() => ({}))) as Partial<Problem>) ?? {};
  tell();
}

// What the caller's role may not call is answered here, as the service would: views ask for all that they can show.
const NOT_FOR_ROLE = 'auth.forbidden';
let may: (operation: string) => boolean = () => true;
export function limitTo(allowed: (operation: string) => boolean) {
  may = allowed;
}
export const isForbidden = (error: unknown) => error instanceof ProblemError && error.status === 403;

const middleware: Middleware = {
  async onResponse({ response }) {
    await noteRefusal(response);
  },
  onRequest({ request, schemaPath }) {
    if (!may(`${request.method} ${schemaPath}`)) {
      const problem = { title: 'Not for this role', code: NOT_FOR_ROLE, detail: 'this role does not read it' };
      return new Response(JSON.stringify(problem), { status: 403, headers: { 'Content-Type': 'application/problem+json' } });
    }
    for (const [name, value] of Object.entries(requestHeaders())) request.headers.set(name, value);
    return request;
  },
};

export const client = createClient<paths>({ baseUrl: window.location.origin });
client.use(middleware);

interface Answer<T> {
  data?: T;
  error?: unknown;
  response: Response;
}

// The body of a good answer; throws ProblemError for any other.
export async function body<T>(answer: Promise<Answer<T>>): Promise<NonNullable<T>> {
  const { data, error, response } = await answer;
  if (response.ok) return (data ?? null) as NonNullable<T>;
  throw new ProblemError(response.status, typeof error === 'object' && error !== null ? (error as Partial<Problem>) : {});
}

// The same with its ETag, for a change that is refused if someone else changed it since.
export async function tagged<T>(answer: Promise<Answer<T>>): Promise<{ value: NonNullable<T>; tag: string | null }> {
  const tag = (await answer).response.headers.get('ETag');
  return { value: await body(answer), tag };
}
export const ifMatch = (tag: string | null): Record<string, string> => (tag === null ? {} : { 'If-Match': tag });
export const ifNew = { 'If-None-Match': '*' };

// A text that is no JSON, to be saved as a file: with the token, which a link would not send.
export async function textOf(path: string): Promise<string> {
  const response = await fetch(path, { headers: requestHeaders() });
  await noteRefusal(response);
  if (response.ok) return response.text();
  throw new ProblemError(response.status, (await response.json().catch(() => ({}))) as Partial<Problem>);
}
