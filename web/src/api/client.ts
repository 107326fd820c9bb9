// The REST contract as types, and one client for all of the console. Problem documents become ProblemError.
import createClient, { type Middleware } from 'openapi-fetch';
import type { components, paths } from './schema';

export type Schema = components['schemas'];
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

// Where a sign-in page will keep its token; today the service listens on loopback only and asks for none.
const credentials: { token: string | null } = { token: null };
export function setToken(token: string | null) {
  credentials.token = token;
}
export function requestHeaders(): Record<string, string> {
  return credentials.token ? { Authorization: `Bearer ${credentials.token}` } : {};
}

const middleware: Middleware = {
  onRequest({ request }) {
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
