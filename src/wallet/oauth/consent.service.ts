import { Inject, Injectable } from '@nestjs/common';
import type { Request, Response } from 'express';
import type Provider from 'oidc-provider';
import type { Interaction } from 'oidc-provider';
import type { Address } from 'viem';
import type { WalletConfig } from '../../platform/config/wallet-settings.js';
import { Sessions } from '../auth/sessions.js';
import { readSigned, type SignedMessage, SignIn, type SignInMessage } from '../auth/sign-in.js';
import { ApprovalService } from '../http/approval.service.js';
import { WalletError } from '../wallet-error.js';
import { tagOf } from '../wallet-keys.js';
import { WALLET_CLOCK, WALLET_SETTINGS, type WalletClock } from '../wallet-tokens.js';
import { GRANT_SECONDS } from './authorization-server.js';
import { shownHost, shownName } from './client-metadata.js';
import { GrantStore } from './grant-store.js';
import { resourceOf, type Scope, SCOPE_NAMES, SCOPES } from './oauth-names.js';
import { RegisteredClients } from './registered-clients.js';

/** A client's request to an owner. */
export interface ConsentRequest {
  readonly client: {
    readonly id: string;
    readonly name: string;
    /** The host of the client's document, if the client is named by one. */
    readonly site?: string;
  };
  /** The host that gets the answer. */
  readonly host: string;
  readonly scopes: readonly { readonly name: Scope; readonly means: string }[];
  /** Unix seconds. */
  readonly expiresAt: number;
}

/** A browser and the request it brought; a cookie binds one to the other. */
export interface ConsentVisit {
  readonly server: Provider;
  /** As the page's address names it. */
  readonly uid: string;
  readonly request: Request;
  readonly response: Response;
}

/** The owner approves a client by signing a message that names the client, the host of its answer and the rules. */
@Injectable()
export class ConsentService {
  constructor(
    private readonly signIn: SignIn,
    private readonly sessions: Sessions,
    private readonly approvals: ApprovalService,
    private readonly grants: GrantStore,
    private readonly clients: RegisteredClients,
    @Inject(WALLET_SETTINGS) private readonly settings: WalletConfig,
    @Inject(WALLET_CLOCK) private readonly now: WalletClock,
  ) {}

  /** @throws WalletError `not_found` for an expired request, and for another browser's request alike. */
  async requestOf(visit: ConsentVisit): Promise<ConsentRequest> {
    return describe(visit.server, await openRequest(visit));
  }

  async challenge(
    visit: ConsentVisit,
    owner: Address,
  ): Promise<SignInMessage & { readonly rules: string }> {
    const asked = await this.requestOf(visit);
    const rules = await this.approvals.rulesOf(owner);
    const statement = statementOf(visit.uid, asked, rules);
    return { ...(await this.signIn.challenge(owner, statement, placeOf(visit))), rules };
  }

  /** @returns the URL to which the browser goes next. */
  async approve(visit: ConsentVisit, signed: SignedMessage): Promise<string> {
    const { server, request, response } = visit;
    const { sessions, grants, clients, now } = this;
    const interaction = await openRequest(visit);
    const asked = await describe(server, interaction);
    const { owner } = readSigned(signed);
    // Rules that changed meanwhile make another statement, for which there is no signature.
    const statement = statementOf(visit.uid, asked, await this.approvals.rulesOf(owner));
    const { askedAt } = await this.signIn.accept(signed, statement, placeOf(visit));
    await sessions.prepare(owner, request.ip);
    const grant = new server.Grant({ accountId: owner, clientId: asked.client.id });
    const scopes = asked.scopes.map(({ name }) => name);
    grant.addResourceScope(resourceOf(this.settings.publicUrl), scopes.join(' '));
    // Given in two forms, because the library asks for an answer to each scope it knows.
    grant.addOIDCScope(scopes.join(' '));
    const at = now();
    const grantId = await grant.save();
    const epoch = await sessions.grant(owner, grantId, { by: 'oauth', askedAt });
    try {
      await grants.keep({
        id: grantId,
        owner,
        scopes,
        epoch,
        clientId: asked.client.id,
        clientName: asked.client.name,
        redirectHost: asked.host,
        createdAt: at,
        expiresAt: at + GRANT_SECONDS,
      });
    } catch (error) {
      // The owner has the maximum number of grants, so the library's record is deleted too.
      await grant.destroy();
      throw error;
    }
    const inUse = (await grants.of(owner)).map(({ clientId }) => clientId);
    await clients.keep(asked.client.id, owner, inUse);
    return server.interactionResult(request, response, {
      login: { accountId: owner, remember: false },
      consent: { grantId },
    });
  }

  /** @returns the URL to which the browser goes next, with the refusal. */
  async deny(visit: ConsentVisit): Promise<string> {
    const { server, request, response } = visit;
    await openRequest(visit);
    return server.interactionResult(request, response, { error: 'access_denied' });
  }
}

/** The request that an owner's signature answers. */
function placeOf({ uid }: ConsentVisit): string {
  return `consent:${uid}`;
}

async function openRequest({ server, uid, request, response }: ConsentVisit): Promise<Interaction> {
  const found = await interactionOf(server, request, response);
  if (found?.uid !== uid) {
    throw new WalletError(
      'not_found',
      'This request has ended, or belongs to another browser. Start again.',
    );
  }
  if (found.result === undefined) return found;
  throw new WalletError('conflict', 'This request is already approved or denied.');
}

/** `undefined` without the cookie of an open request; other errors are thrown. */
async function interactionOf(
  server: Provider,
  request: Request,
  response: Response,
): Promise<Interaction | undefined> {
  try {
    return await server.interactionDetails(request, response);
  } catch (error) {
    if (error instanceof Error && error.name === 'SessionNotFound') return undefined;
    throw error;
  }
}

async function describe(server: Provider, { params, exp }: Interaction): Promise<ConsentRequest> {
  const [id, redirect, scope] = [params['client_id'], params['redirect_uri'], params['scope']];
  const client = typeof id === 'string' ? await server.Client.find(id) : undefined;
  if (client === undefined || typeof redirect !== 'string' || typeof scope !== 'string') {
    throw new WalletError(
      'not_found',
      'This application is no longer registered. Start again in the application.',
    );
  }
  const asked = scope.split(' ');
  return {
    client: {
      id: client.clientId,
      name: shownName(client.clientName),
      ...(client.clientId.startsWith('https://') && { site: new URL(client.clientId).host }),
    },
    host: shownHost(redirect),
    scopes: SCOPE_NAMES.filter((name) => asked.includes(name)).map((name) => ({
      name,
      means: SCOPES[name],
    })),
    expiresAt: exp,
  };
}

/** One line. It holds the id of the request, so that a signature answers no other request. */
function statementOf(uid: string, { client, host, scopes }: ConsentRequest, rules: string): string {
  const wishes = scopes.map(({ name, means }) => `${name} (${means})`).join(', ');
  const site = client.site === undefined ? '' : ` of ${client.site}`;
  return `Let the application "${client.name}"${site}, answered at ${host}, into my wallet for ${wishes}. Request ${tagOf(uid).slice(0, 12)}. ${rules}`;
}
