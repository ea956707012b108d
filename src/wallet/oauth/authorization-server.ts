import { createPrivateKey } from 'node:crypto';
import type { EventEmitter } from 'node:events';
import { Inject, Injectable } from '@nestjs/common';
import { PinoLogger } from 'nestjs-pino';
import type Provider from 'oidc-provider';
import type {
  Account,
  Adapter,
  AdapterPayload,
  Configuration,
  errors as ErrorsOfProvider,
  JWK,
  KoaContextWithOIDC,
} from 'oidc-provider';
import type { Address } from 'viem';
import type { WalletConfig } from '../../platform/config/wallet-settings.js';
import type { RotatingSecret } from '../../platform/config/wallet-settings.js';
import { siteGroup } from '../../platform/rate-limit/address-group.js';
import { AnonymousRoom, ANSWER_CHARACTERS, type NoRoom } from '../anonymous-room.js';
import { Sessions } from '../auth/sessions.js';
import { KeyRing } from '../seal/key-ring.js';
import { WalletError } from '../wallet-error.js';
import { WALLET_SETTINGS } from '../wallet-tokens.js';
import { ClientDocuments } from './client-documents.js';
import { keepKnown, problemOf } from './client-metadata.js';
import { GrantEnding } from './grant-ending.js';
import { GrantStore } from './grant-store.js';
import { keepBounded, type Names, useOurNames, withOurNames } from './named-requests.js';
import { CLIENT_AUTH_METHODS, OAUTH_PATHS, resourceOf, scopesOffered } from './oauth-names.js';
import { OAuthRecords } from './oauth-records.js';
import { RegisteredClients } from './registered-clients.js';

const DAY_SECONDS = 86_400;
/** After this time the owner has to sign again. */
export const GRANT_SECONDS = 30 * DAY_SECONDS;
/** A client that does not return within this time signs in again. */
const REFRESH_SECONDS = 14 * DAY_SECONDS;
/** Valid for one immediate exchange. */
const CODE_SECONDS = 60;
/** The same as for a message to sign. */
const INTERACTION_SECONDS = 600;
/** Each request begins without a session, and the session ends with the answer. */
const SESSION_SECONDS = 60;
const HOUR_SECONDS = 3600;
/** A place for another client becomes free when an owner answers, or when a request expires. */
const REGISTRATION_RETRY_SECONDS = 60;

type Errors = typeof ErrorsOfProvider;

/** The token of `Provider` of `oidc-provider`. */
export const AUTHORIZATION_SERVER = Symbol('AUTHORIZATION_SERVER');

/** Collaborators of the authorization server. */
@Injectable()
export class ServerParts {
  constructor(
    readonly records: OAuthRecords,
    readonly clients: RegisteredClients,
    readonly grants: GrantStore,
    readonly ending: GrantEnding,
    readonly documents: ClientDocuments,
    readonly room: AnonymousRoom,
    readonly sessions: Sessions,
    @Inject(WALLET_SETTINGS) readonly settings: WalletConfig,
    readonly logger: PinoLogger,
  ) {}
}

/**
 * The authorization server of the wallet: `oidc-provider` with the minimum that MCP requires. Codes with PKCE by S256,
 * one resource, opaque tokens, refresh tokens that change with each use. The owner's signature (`consent.service.ts`)
 * and the grant store decide what a client may do.
 *
 * The library is loaded only where it is used.
 */
export async function startAuthorizationServer(parts: ServerParts): Promise<Provider> {
  const { default: Server, errors } = await import('oidc-provider');
  const { publicUrl } = parts.settings;
  const server = new Server(publicUrl, configurationOf(parts, Server, errors));
  // The settings say which proxy is in front, not the headers: the controller writes them.
  server.proxy = true;
  server.use(ourNames({ publicUrl, scopes: scopesOffered(parts.settings) }));
  const onFailure = (err: unknown): void => {
    parts.logger.error({ err }, 'the OAuth server failed');
  };
  server.on('server_error', (_, error) => {
    onFailure(error);
  });
  // Otherwise koa writes errors with all their context to standard error.
  (server as EventEmitter).on('error', onFailure);
  return server;
}

function configurationOf(
  parts: ServerParts,
  Server: typeof Provider,
  errors: Errors,
): Configuration {
  const { publicUrl, sealSecret, tokenTtlSeconds } = parts.settings;
  const scopes = scopesOffered(parts.settings);
  const resource = resourceOf(publicUrl);
  const scope = scopes.join(' ');
  const accessSeconds = Math.min(HOUR_SECONDS, tokenTtlSeconds);
  return {
    adapter: (kind) => new KindOfRecord(kind, parts, errors, () => Server.ctx),
    clientAuthMethods: [...CLIENT_AUTH_METHODS],
    clientBasedCORS: () => true,
    clientDefaults: {
      grant_types: ['authorization_code', 'refresh_token'],
      // Native clients may listen on any port of this machine (RFC 8252, section 7.3).
      application_type: 'native',
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
      id_token_signed_response_alg: 'EdDSA',
    },
    cookies: {
      keys: [new KeyRing(sealSecret, 'oauth-cookies').newest.bytes.toString('base64url')],
      long: { httpOnly: true, sameSite: 'lax', path: '/oauth', signed: true },
      short: { httpOnly: true, sameSite: 'lax', signed: true },
    },
    // The library passes each client through here before any other check, however it became known.
    extraClientMetadata: {
      properties: ['software_id'],
      validator: (_, __, ___, metadata) => {
        const given = metadata as unknown as Record<string, unknown>;
        keepKnown(given, scopes);
        const problem = problemOf(given);
        if (problem !== undefined) throw new errors.InvalidClientMetadata(problem);
      },
    },
    enabledJWA: { idTokenSigningAlgValues: ['EdDSA'] },
    expiresWithSession: () => false,
    features: {
      devInteractions: { enabled: false },
      dPoP: { enabled: false },
      pushedAuthorizationRequests: { enabled: false },
      rpInitiatedLogout: { enabled: false },
      userinfo: { enabled: false },
      clientIdMetadataDocument: {
        enabled: true,
        ack: 'draft-02',
        cacheDuration: { min: 60, max: DAY_SECONDS },
      },
      registration: { enabled: true, issueRegistrationAccessToken: false },
      revocation: {
        enabled: true,
        allowedPolicy: (_, client, token) => token.clientId === client.clientId,
      },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => resource,
        useGrantedResource: () => true,
        getResourceServerInfo: (_, asked) => {
          if (asked !== resource) throw new errors.InvalidTarget();
          const format = { accessTokenFormat: 'opaque', accessTokenTTL: accessSeconds } as const;
          return { scope, audience: resource, ...format };
        },
      },
    },
    // A client may name several URLs; only its own name is fetched. The other URLs were removed before.
    fetch: (input) => {
      const url = String(input instanceof Request ? input.url : input);
      return parts.documents.fetch(url, siteGroup(addressOf(Server.ctx)));
    },
    findAccount: (_, owner, token) => findAccount(parts, owner, token?.grantId),
    interactions: { url: (_, { uid }) => `${publicUrl}${OAUTH_PATHS.consent}/${uid}` },
    issueRefreshToken: (_, client) => client.grantTypeAllowed('refresh_token'),
    jwks: { keys: [signingKeyOf(sealSecret)] },
    // Each sign-in is its own grant and inherits nothing from earlier ones.
    loadExistingGrant: (ctx) => {
      const grantId = ctx.oidc.result?.consent?.grantId;
      return grantId === undefined
        ? Promise.resolve(undefined)
        : ctx.oidc.provider.Grant.find(grantId);
    },
    pkce: { required: () => true },
    renderError: (ctx, { error, error_description: description }) => {
      ctx.type = 'text/plain; charset=utf-8';
      ctx.body = `${shown(error)}: ${shown(description)}\n`;
    },
    responseTypes: ['code'],
    revokeGrantPolicy: () => true,
    rotateRefreshToken: true,
    routes: {
      authorization: OAUTH_PATHS.authorization,
      token: OAUTH_PATHS.token,
      registration: OAUTH_PATHS.registration,
      revocation: OAUTH_PATHS.revocation,
    },
    // Clients also name scopes when they register.
    scopes: [...scopes],
    ttl: {
      AccessToken: accessSeconds,
      AuthorizationCode: CODE_SECONDS,
      Grant: GRANT_SECONDS,
      IdToken: HOUR_SECONDS,
      Interaction: INTERACTION_SECONDS,
      RefreshToken: ({ oidc }) =>
        Math.max(1, Math.min(REFRESH_SECONDS, oidc.entities.Grant?.remainingTTL ?? 1)),
      Session: SESSION_SECONDS,
    },
  };
}

/** One kind of record of the library, with its place of storage. */
class KindOfRecord implements Adapter {
  constructor(
    private readonly kind: string,
    private readonly parts: ServerParts,
    private readonly errors: Errors,
    private readonly contextNow: () => KoaContextWithOIDC | undefined,
  ) {}

  async upsert(id: string, payload: AdapterPayload, seconds = HOUR_SECONDS): Promise<void> {
    // There are no lasting sign-ins.
    if (this.kind === 'Session') return;
    if (this.kind === 'Client') {
      await this.#register(id, payload);
      return;
    }
    if (this.kind === 'Interaction') await this.#begin(payload, seconds);
    await this.parts.records.put(this.kind, id, payload, seconds);
  }

  /** A request that an owner has answered is stored again with the answer; it no longer counts as a stranger's. */
  async #begin({ params, result, lastSubmission, ...more }: AdapterPayload, seconds: number) {
    if (result === undefined && lastSubmission === undefined) {
      await this.#takeRoom(JSON.stringify({ params, ...more }), ANSWER_CHARACTERS);
    }
    const clientId = params?.['client_id'];
    if (typeof clientId === 'string') await this.parts.clients.need(clientId, seconds);
  }

  async #register(id: string, payload: AdapterPayload): Promise<void> {
    await this.#takeRoom(JSON.stringify(payload));
    const network = siteGroup(addressOf(this.contextNow()));
    const registration = await this.parts.clients.add(id, payload, network);
    if (registration === 'added') return;
    const isNetworks = registration === 'network_full';
    throw this.#refusal({ isNetworks, retryAfterSeconds: REGISTRATION_RETRY_SECONDS });
  }

  async #takeRoom(text: string, more = 0): Promise<void> {
    const length = Buffer.byteLength(text) + more;
    const noRoom = await this.parts.room.take('oauth', addressOf(this.contextNow()), length);
    if (noRoom !== undefined) throw this.#refusal(noRoom);
  }

  #refusal({ isNetworks, retryAfterSeconds }: NoRoom): Error {
    this.contextNow()?.set('Retry-After', String(retryAfterSeconds));
    const whose = isNetworks ? ' from your network' : '';
    const error = new this.errors.TemporarilyUnavailable(
      `too many requests${whose} wait for the approval of their owners`,
    );
    error.status = error.statusCode = isNetworks ? 429 : 503;
    return error;
  }

  find(id: string): Promise<AdapterPayload | undefined> {
    if (this.kind === 'Session') return Promise.resolve(undefined);
    if (this.kind === 'Client') return this.parts.clients.find(id);
    return this.parts.records.find(this.kind, id);
  }

  /**
   * Of two concurrent uses only one succeeds. One of them is a thief's, and it is unknown which, so both lose their
   * tokens (RFC 9700, section 4.14.2).
   */
  async consume(id: string): Promise<void> {
    if ((await this.parts.records.consume(this.kind, id)) !== undefined) return;
    const used = await this.parts.records.find(this.kind, id);
    if (used?.grantId !== undefined) await this.parts.ending.endById(used.grantId);
    throw new this.errors.InvalidGrant('the code or token was used before');
  }

  async destroy(id: string): Promise<void> {
    if (this.kind === 'Grant') await this.parts.ending.endById(id);
    await this.parts.records.remove(this.kind, id);
  }

  /** Codes and tokens belong to their grant, which is revoked with them: see `revokeGrantPolicy`. */
  revokeByGrantId(): Promise<void> {
    return Promise.resolve();
  }

  findByUid(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  findByUserCode(): Promise<undefined> {
    return Promise.resolve(undefined);
  }
}

function addressOf(context: KoaContextWithOIDC | undefined): string | undefined {
  // The Express request, whose address follows the proxy settings.
  return (context?.req as { readonly ip?: string } | undefined)?.ip;
}

/** For a code or refresh token, the owner whose grant is still valid; otherwise the latest signer. */
async function findAccount(
  { grants, sessions }: ServerParts,
  owner: string,
  grantId: string | undefined,
): Promise<Account | undefined> {
  if (grantId !== undefined) {
    const grant = await grants.find(grantId);
    if (grant?.owner !== (owner as Address)) return undefined;
    try {
      await sessions.ofGrant(grant);
    } catch (error) {
      if (error instanceof WalletError && error.code === 'unauthorized') return undefined;
      throw error;
    }
  }
  return { accountId: owner, claims: () => ({ sub: owner }) };
}

/**
 * Translates names that clients use differently. A request without a known scope asks for the scope
 * that the resource's refusal named (RFC 6749, section 3.3), because clients leave it out when they
 * connect again. The owner reads and signs the result.
 */
function ourNames(names: Names): Parameters<Provider['use']>[0] {
  return async (ctx, next) => {
    if (ctx.path === OAUTH_PATHS.authorization) {
      const parameters = new URLSearchParams(ctx.querystring);
      const problem = keepBounded(parameters);
      if (problem !== undefined) {
        ctx.status = 400;
        ctx.body = `invalid_request: ${problem}\n`;
        return;
      }
      useOurNames(parameters, names);
      if (!parameters.has('scope')) parameters.set('scope', names.scopes.join(' '));
      ctx.querystring = parameters.toString();
    } else if (ctx.path === OAUTH_PATHS.token) {
      ctx.req = ctx.request.req = withOurNames(ctx.req, names);
    }
    await next();
  };
}

/**
 * Nothing is signed with it, because tokens are opaque. The library requires a key, and would otherwise use a public
 * one.
 */
function signingKeyOf(secret: RotatingSecret): JWK {
  const seed = new KeyRing(secret, 'oauth-signing').newest.bytes;
  // PKCS #8 of Ed25519 (RFC 8410) around the seed.
  const der = Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), seed]);
  const key = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
  return { ...key.export({ format: 'jwk' }), use: 'sig', alg: 'EdDSA' };
}

function shown(text: string | undefined): string {
  return (text ?? '').replaceAll(/[^\x20-\x7e]/g, '').slice(0, 300);
}
