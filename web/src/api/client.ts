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

// The token of this tab, kept until the tab is closed; a service that asks for none answers without. Tabs of this console
// hand it to a new one among themselves, so nothing is stored beyond them: with the last tab it is gone.
export const SIGNED_OUT = 'auth.signedOut';
const KEY = 'railweave.token';
export const SESSION = 'railweave.session'; // what renews it, of oidc.ts
let token = sessionStorage.getItem(KEY);
type Said = { kind: 'ask' } | { kind: 'again'; token: string; session: string | null } | { kind: 'token'; token: string } | { kind: 'renewed'; token: string; before: string } | { kind: 'out'; before: string };
const tabs = 'BroadcastChannel' in window ? new BroadcastChannel('railweave.tabs') : undefined;
const tellTabs = (said: Said) => tabs?.postMessage(said);
function hear({ data }: MessageEvent<Said>) {
  if (data.kind === 'ask' && token !== null && refused === null) tellTabs({ kind: 'token', token });
  else if (data.kind === 'token' && token === null && refused?.code !== SIGNED_OUT) signIn.use(data.token);
  else if (data.kind === 'again' && refused !== null && refused.code !== SIGNED_OUT) {
    if (data.session) sessionStorage.setItem(SESSION, data.session);
    signIn.take(data.token);
  } else if (data.kind === 'renewed' && token === data.before) signIn.take(data.token);
  else if (data.kind === 'out' && token === data.before) signIn.forget();
}
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
  // Forgets the token, and asks for one. In the other tabs too, where the user signed out.
  out: (why?: Partial<Problem>) => {
    const before = token;
    signIn.forget(why);
    if (before !== null && why === undefined) tellTabs({ kind: 'out', before });
  },
  forget: (why: Partial<Problem> = { code: SIGNED_OUT, detail: 'You are signed out.' }) => {
    signIn.use(null);
    refused = why;
    tell();
  },
  // Signed in again in a window of its own: for the pages whose session has ended. Whether it is the same user is theirs to see.
  handOver: (given: string, session: string | null) => tellTabs({ kind: 'again', token: given, session }),
  // A newer token of the same user.
  renew: (given: string) => {
    if (token !== null) tellTabs({ kind: 'renewed', token: given, before: token });
    signIn.take(given);
  },
  take: (given: string) => {
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
if (tabs) tabs.onmessage = hear;

// Resolves once another tab has handed its token over, or none will.
const TABS_ANSWER_MS = 100;
export async function askOtherTabs(): Promise<void> {
  if (!tabs || token !== null) return;
  tellTabs({ kind: 'ask' });
  await new Promise<void>((done) => {
    const stop = signIn.subscribe(() => token !== null && done());
    setTimeout(() => {
      stop();
      done();
    }, TABS_ANSWER_MS);
  });
}

export function requestHeaders(): Record<string, string> {
  return token ? { Authorization: `Bearer ${token}` } : {};
}
// sent: what the request showed; an answer to a token that is not the present one any more says nothing of that. It may have
// been replaced while the answer is read, too.
export async function noteRefusal(response: Response, sent: string | undefined) {
  if (response.status !== 401) return;
  const problem = ((await response.clone().json().catch(() => ({}))) as Partial<Problem>) ?? {};
  if (sent !== requestHeaders().Authorization) return;
  refused = problem;
  tell();
}

// What the caller's role may not call is answered here, as the service would: views ask for all that they can show.
const NOT_FOR_ROLE = 'auth.forbidden';
let may: (operation: string) => boolean = () => true;
export function limitTo(allowed: (operation: string) => boolean) {
  may = allowed;
}
export const isForbidden = (error: unknown) => error instanceof ProblemError && error.status === 403;

// A proxy's page, or one of a network that wants a login first: neither the service's answer nor its error.
const isJson = (response: Response) => response.status === 204 || response.status === 304 || /\bjson\b/.test(response.headers.get('Content-Type') ?? '') || response.headers.get('Content-Length') === '0';
export const NOT_JSON = 'http.notJson';
function notOfService(path: string, response: Response): Response {
  const kind = response.headers.get('Content-Type')?.split(';')[0] ?? 'no type';
  const problem = {
    title: 'Something else answers in the service’s place',
    code: NOT_JSON,
    detail: `${path} was answered with status ${response.status} and ${kind}, which is no answer of Railweave`,
    hint: 'a proxy between this page and the service may be down or ask for a login; this page tries again by itself',
  };
  return new Response(JSON.stringify(problem), { status: response.status >= 500 ? response.status : 502, headers: { 'Content-Type': 'application/problem+json' } });
}

const middleware: Middleware = {
  async onResponse({ request, response }) {
    if (!isJson(response)) return notOfService(new URL(request.url).pathname, response);
    await noteRefusal(response, request.headers.get('Authorization') ?? undefined);
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
  const headers = requestHeaders();
  const response = await fetch(path, { headers });
  await noteRefusal(response, headers.Authorization);
  if (response.ok) return response.text();
  throw new ProblemError(response.status, (await response.json().catch(() => ({}))) as Partial<Problem>);
}
