// Signing in with an OpenID Connect provider: authorization code with PKCE, state and nonce (RFC 6749, 7636; OpenID Connect
// Core 3.1), by redirect. oauth4webapi speaks the protocol, and is loaded when it is first needed. Tokens are in
// sessionStorage: they end with the tab.
import type { AuthorizationServer, TokenEndpointResponse } from 'oauth4webapi';
import { dueAt, type Session } from '../model/session/session';
import { body, client, SESSION, signIn } from './client';

type Provider = NonNullable<Awaited<ReturnType<typeof signInMethods>>['oidc']>;
export const signInMethods = () => body(client.GET('/v1/sign-in'));

const FLOW = 'railweave.signing-in';
export const RETURN_PATH = '/console/signed-in';
const redirectUri = () => `${window.location.origin}${RETURN_PATH}`;

interface Flow {
  verifier: string;
  state: string;
  nonce: string;
  back: string; // the view to return to
  apart?: boolean; // in a window of its own, beside the page that is kept
}

const load = () => import('oauth4webapi');

async function discover(provider: Provider) {
  const oauth = await load();
  const issuer = new URL(provider.issuer);
  // The service allows plain http on loopback addresses alone.
  const options = issuer.protocol === 'http:' ? { [oauth.allowInsecureRequests]: true } : {};
  const server = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, { algorithm: 'oidc', ...options }));
  return { oauth, server, options, self: { client_id: provider.clientId }, more: provider.resource ? { resource: provider.resource } : undefined };
}

// What was typed into a page whose session has ended would be lost with the page: the provider is asked in a window of its
// own then. False: the browser opens none.
const BEGIN = 'begin';
export function beginApart(): boolean {
  return window.open(`${RETURN_PATH}?${BEGIN}=1`, 'railweave-sign-in', 'popup,width=520,height=680') !== null;
}
// This is that window: it goes on to the provider's pages.
export const isToBegin = () => window.location.pathname === RETURN_PATH && new URLSearchParams(window.location.search).has(BEGIN);
export async function goOn(): Promise<void> {
  const { oidc } = await signInMethods();
  if (!oidc) throw new Error('the service names no provider any more');
  await begin(oidc, true);
}

// Leaves the page for the provider's.
export async function begin(provider: Provider, apart = false): Promise<void> {
  const { oauth, server } = await discover(provider);
  if (!server.authorization_endpoint) throw new Error('the provider has no authorization endpoint');
  const here = window.location.pathname === RETURN_PATH ? '/console' : `${window.location.pathname}${window.location.search}`;
  const flow: Flow = { verifier: oauth.generateRandomCodeVerifier(), state: oauth.generateRandomState(), nonce: oauth.generateRandomNonce(), back: here, ...(apart ? { apart } : {}) };
  const to = new URL(server.authorization_endpoint);
  const parameters: Record<string, string> = {
    client_id: provider.clientId,
    redirect_uri: redirectUri(),
    response_type: 'code',
    scope: provider.scope,
    code_challenge: await oauth.calculatePKCECodeChallenge(flow.verifier),
    code_challenge_method: 'S256',
    state: flow.state,
    nonce: flow.nonce,
    ...(provider.resource ? { resource: provider.resource } : {}),
    ...(provider.scope.split(' ').includes('offline_access') ? { prompt: 'consent' } : {}), // as OpenID Connect Core 11 asks
  };
  for (const [name, value] of Object.entries(parameters)) to.searchParams.set(name, value);
  sessionStorage.setItem(FLOW, JSON.stringify(flow));
  window.location.assign(to);
}

// idTokenEnds: seconds since 1970, where the answer has a new ID token.
function keep(provider: Provider, tokens: TokenEndpointResponse, idTokenEnds: number | undefined, before?: Session): string {
  const idToken = tokens.id_token ?? before?.idToken ?? null;
  const bearer = provider.bearer === 'idToken' ? idToken : tokens.access_token;
  if (!bearer) throw new Error('the provider gave no token for this service');
  const now = Date.now();
  const ends = provider.bearer === 'idToken' ? (idTokenEnds ? idTokenEnds * 1000 : before?.until) : undefined;
  const session: Session = { idToken, refresh: tokens.refresh_token ?? before?.refresh ?? null, from: now, until: ends ?? now + (tokens.expires_in ?? 3600) * 1000 };
  sessionStorage.setItem(SESSION, JSON.stringify(session));
  return bearer;
}

export function session(): Session | null {
  try {
    return JSON.parse(sessionStorage.getItem(SESSION) ?? 'null') as Session | null;
  } catch {
    return null;
  }
}

// Back from the provider: takes the tokens, and returns to where the user was, or hands them to the page that waits. Throws
// why not. True: this window has done its part.
export async function finish(): Promise<boolean> {
  const flow = JSON.parse(sessionStorage.getItem(FLOW) ?? 'null') as Flow | null;
  sessionStorage.removeItem(FLOW); // an answer is used once
  const answer = new URL(window.location.href);
  window.history.replaceState(null, '', flow?.back ?? '/console'); // the code is not kept in the history
  if (!flow) throw new Error('this page did not ask the provider to sign anyone in');
  const { oidc } = await signInMethods();
  if (!oidc) throw new Error('the service names no provider any more');
  const { oauth, server, options, self, more } = await discover(oidc);
  const given = oauth.validateAuthResponse(server, self, answer, flow.state);
  const response = await oauth.authorizationCodeGrantRequest(server, self, oauth.None(), given, redirectUri(), flow.verifier, { ...options, ...(more ? { additionalParameters: more } : {}) });
  const tokens = await oauth.processAuthorizationCodeResponse(server, self, response, { expectedNonce: flow.nonce, requireIdToken: true });
  const bearer = keep(oidc, tokens, oauth.getValidatedIdTokenClaims(tokens)?.exp);
  if (!flow.apart) {
    signIn.use(bearer);
    return false;
  }
  signIn.handOver(bearer, sessionStorage.getItem(SESSION));
  sessionStorage.removeItem(SESSION); // the page that waited renews it
  return true;
}

async function renewed(before: Session): Promise<string | null> {
  if (!before.refresh) return null;
  const { oidc } = await signInMethods();
  if (!oidc) return null;
  const { oauth, server, options, self, more } = await discover(oidc);
  const response = await oauth.refreshTokenGrantRequest(server, self, oauth.None(), before.refresh, { ...options, ...(more ? { additionalParameters: more } : {}) });
  const tokens = await oauth.processRefreshTokenResponse(server, self, response);
  return keep(oidc, tokens, oauth.getValidatedIdTokenClaims(tokens)?.exp, before);
}

let timer: ReturnType<typeof setTimeout> | undefined;

// Renews the session before it ends, or says that it has ended. Called whenever a session begins.
export function watch(onRenewed: () => void) {
  clearTimeout(timer);
  const known = session();
  if (!known || !signIn.hasToken()) return;
  timer = setTimeout(() => {
    renewed(known).then(
      (bearer) => {
        if (bearer) {
          signIn.renew(bearer);
          onRenewed();
          watch(onRenewed);
        } else ended();
      },
      () => (Date.now() < known.until ? (timer = setTimeout(() => watch(onRenewed), 1000)) : ended()), // the provider may come back
    );
  }, Math.max(0, dueAt(known) - Date.now()));
}

function ended() {
  sessionStorage.removeItem(SESSION);
  signIn.out({ code: 'auth.expired', detail: 'Your session has ended. Sign in again to go on where you were.' });
}

// Forgets the tokens, and ends the session at the provider too where it has a way to.
export async function signOut(): Promise<void> {
  clearTimeout(timer);
  const known = session();
  sessionStorage.removeItem(SESSION);
  signIn.out();
  if (!known) return;
  const { oidc } = await signInMethods();
  if (!oidc) return;
  const { server } = (await discover(oidc)) as { server: AuthorizationServer };
  if (!server.end_session_endpoint) return;
  const to = new URL(server.end_session_endpoint);
  to.searchParams.set('client_id', oidc.clientId);
  if (known.idToken) to.searchParams.set('id_token_hint', known.idToken);
  to.searchParams.set('post_logout_redirect_uri', `${window.location.origin}/console`);
  window.location.assign(to);
}
