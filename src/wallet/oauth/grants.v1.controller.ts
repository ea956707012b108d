import { Controller, Delete, Get, Param, UseFilters, UseGuards } from '@nestjs/common';
import { CurrentSession, WalletAccess, WalletAuthGuard } from '../http/wallet-auth.guard.js';
import { WalletErrorFilter } from '../http/wallet-error.filter.js';
import type { Session } from '../session.js';
import { WalletError } from '../wallet-error.js';
import { type Grant, GrantBook } from './grant-book.js';
import { GrantEnding } from './grant-ending.js';

type Answer = Readonly<Record<string, unknown>>;

/** Whom an owner has let in by OAuth, and the end of that. */
@Controller('v1/wallets/me/grants')
@UseFilters(WalletErrorFilter)
@UseGuards(WalletAuthGuard)
@WalletAccess('rules_maker')
export class GrantsV1Controller {
  constructor(
    private readonly book: GrantBook,
    private readonly ending: GrantEnding,
  ) {}

  @Get()
  async list(@CurrentSession() { owner }: Session): Promise<Answer> {
    return { grants: (await this.book.of(owner)).map(shown) };
  }

  /** All tokens of the grant are void when this answers. */
  @Delete(':id')
  async end(@CurrentSession() { owner }: Session, @Param('id') id: string): Promise<Answer> {
    const grant = await this.book.find(id);
    if (grant?.owner !== owner) throw new WalletError('not_found', 'There is no such grant.');
    await this.ending.end(grant);
    return { status: 'revoked' };
  }
}

function shown({ id, clientId, clientName, redirectHost, scopes, ...times }: Grant): Answer {
  const { createdAt, expiresAt } = times;
  return {
    ...{ id, client: { id: clientId, name: clientName }, host: redirectHost, scopes },
    ...{ createdAt, expiresAt },
  };
}
