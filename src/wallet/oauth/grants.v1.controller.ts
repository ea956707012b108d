import { Controller, Delete, Get, Param, UseFilters, UseGuards } from '@nestjs/common';
import { jsonAnswer } from '../../platform/http/openapi.js';
import { IssuedTokens } from '../auth/issued-tokens.js';
import { WalletRevoked } from '../http/dto/sign-in.response.js';
import { CurrentSession, WalletAccess, WalletAuthGuard } from '../http/wallet-auth.guard.js';
import { WalletErrorFilter } from '../http/wallet-error.filter.js';
import { DescribesWithToken, FORBIDDEN, HasId, NOT_FOUND } from '../openapi/operations.js';
import type { Session } from '../session.js';
import { WalletError } from '../wallet-error.js';
import { type ListedGrant, WalletGrants } from './dto/grants.response.js';
import { GrantEnding } from './grant-ending.js';
import { type Grant, GrantStore } from './grant-store.js';

/** The OAuth clients that an owner has approved, and their revocation. */
@Controller('v1/wallets/me/grants')
@UseFilters(WalletErrorFilter)
@UseGuards(WalletAuthGuard)
@WalletAccess('rules_maker')
export class GrantsV1Controller {
  constructor(
    private readonly book: GrantStore,
    private readonly ending: GrantEnding,
    private readonly issued: IssuedTokens,
  ) {}

  @Get()
  @DescribesWithToken('walletGrants', 'Lists the clients with OAuth access. Only for the owner.', {
    answer: jsonAnswer('The newest first.', WalletGrants),
    more: FORBIDDEN,
  })
  async list(@CurrentSession() { owner }: Session): Promise<WalletGrants> {
    const grants = await this.book.of(owner);
    const uses = await this.issued.lastUses(grants.map(({ id }) => id));
    return { grants: grants.map((grant, at) => shown(grant, uses[at])) };
  }

  /** All tokens of the grant are void when this answers. */
  @Delete(':id')
  @HasId()
  @DescribesWithToken('walletGrantEnd', 'Revokes the access of one client. Only for the owner.', {
    answer: jsonAnswer('The tokens of the client are revoked.', WalletRevoked),
    more: { ...FORBIDDEN, ...NOT_FOUND },
  })
  async end(@CurrentSession() { owner }: Session, @Param('id') id: string): Promise<WalletRevoked> {
    const grant = await this.book.find(id);
    if (grant?.owner !== owner) throw new WalletError('not_found', 'There is no such grant.');
    await this.ending.end(grant);
    return { status: 'revoked' };
  }
}

function shown(
  { id, clientId, clientName, redirectHost, scopes, createdAt, expiresAt }: Grant,
  lastUsedAt: number | undefined,
): ListedGrant {
  return {
    id,
    client: { id: clientId, name: clientName },
    host: redirectHost,
    scopes,
    createdAt,
    expiresAt,
    ...(lastUsedAt !== undefined && { lastUsedAt }),
  };
}
