// An OpenID Connect provider on a loopback port, a certified implementation: people sign in on its own pages. What it says of
// each is in `people`.
import { generateKeyPairSync } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import Provider from 'oidc-provider';

export interface Person {
  roles: string[];
  tenant?: string;
  renewable?: boolean; // its sessions can be renewed
}

export class IdentityProvider {
  issuer = '';
  readonly grants: string[] = []; // that its token endpoint has given, by grant_type
  tokenSeconds = 600;
  private readonly server: Server = createServer();
  private readonly key = generateKeyPairSync('rsa', { modulusLength: 2048 });
  private readonly own = { kid: 'one', alg: 'RS256', use: 'sig' };

  constructor(
    readonly people: Record<string, Person>,
    readonly audience: string,
  ) {}

  // The port is known from here on; it answers after serve().
  async listen(): Promise<this> {
    await new Promise<void>((done) => this.server.listen(0, '127.0.0.1', done));
    this.issuer = `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
    return this;
  }

  // What it signs with, as it publishes it.
  get keys(): string {
    return JSON.stringify({ keys: [{ ...this.key.publicKey.export({ format: 'jwk' }), ...this.own }] });
  }

  serve(console: string) {
    const provider = new Provider(this.issuer, {
      clients: [{
        client_id: 'console',
        application_type: 'native', // http on loopback addresses
        token_endpoint_auth_method: 'none',
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        redirect_uris: [`${console}/console/signed-in`],
        post_logout_redirect_uris: [`${console}/console`],
      }],
      jwks: { keys: [{ ...this.key.privateKey.export({ format: 'jwk' }), ...this.own }] },
      pkce: { required: () => true },
      clientBasedCORS: (_: unknown, origin: string) => origin === console,
      cookies: { keys: ['for tests alone'] },
      ttl: { AccessToken: () => this.tokenSeconds, Session: 3600, Grant: 3600, IdToken: 3600, Interaction: 600, RefreshToken: 3600 },
      findAccount: (_: unknown, id: string) => (this.people[id] ? { accountId: id, claims: () => ({ sub: id }) } : undefined),
      issueRefreshToken: (_: unknown, __: unknown, code: { accountId: string }) => this.people[code.accountId]?.renewable ?? false,
      extraTokenClaims: (_: unknown, token: { accountId?: string }) => {
        const person = this.people[token.accountId ?? ''];
        return person && { roles: person.roles, ...(person.tenant ? { tenant: person.tenant } : {}) };
      },
      features: {
        devInteractions: { enabled: true },
        resourceIndicators: {
          enabled: true,
          useGrantedResource: () => true,
          getResourceServerInfo: () => ({ scope: '', audience: this.audience, accessTokenFormat: 'jwt', jwt: { sign: { alg: 'RS256' } }, accessTokenTTL: this.tokenSeconds }),
        },
      },
    } as never);
    provider.on('grant.success', (context: { oidc: { params?: { grant_type?: string } } }) => this.grants.push(context.oidc.params?.grant_type ?? ''));
    this.server.on('request', provider.callback());
  }

  async stop() {
    this.server.closeAllConnections();
    await new Promise((done) => this.server.close(done));
  }
}
