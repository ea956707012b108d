import { Controller, Delete, Get, Param, UseFilters, UseGuards } from '@nestjs/common';
import { jsonAnswer } from '../../platform/http/openapi.js';
import { IssuedTokens } from '../auth/issued-tokens.js';
import { Sessions } from '../auth/sessions.js';
import { DescribesWithToken, FORBIDDEN, HasId, NOT_FOUND } from '../openapi/operations.js';
import type { Session } from '../session.js';
import { WalletError } from '../wallet-error.js';
import { WalletRevoked } from './dto/sign-in.response.js';
import { WalletTokens } from './dto/tokens.response.js';
import { CurrentSession, WalletAccess, WalletAuthGuard } from './wallet-auth.guard.js';
import { WalletErrorFilter } from './wallet-error.filter.js';

/** The valid tokens of a wallet, and their revocation. Tokens of OAuth belong to grants. */
@Controller('v1/wallets/me/tokens')
@UseFilters(WalletErrorFilter)
@UseGuards(WalletAuthGuard)
@WalletAccess('rules_maker')
export class TokensV1Controller {
  constructor(
    private readonly issued: IssuedTokens,
    private readonly sessions: Sessions,
  ) {}

  @Get()
  @DescribesWithToken('walletTokens', 'Lists the valid tokens of the wallet. Only for its owner.', {
    answer: jsonAnswer('The newest first, without tokens of OAuth.', WalletTokens),
    more: FORBIDDEN,
  })
  async list(@CurrentSession() { wallet, tokenId }: Session): Promise<WalletTokens> {
    const tokens = await this.issued.of(wallet.address);
    const uses = await this.issued.lastUses(tokens.map(({ id }) => id));
    return {
      tokens: tokens.map((token, at) => ({
        ...token,
        ...(uses[at] !== undefined && { lastUsedAt: uses[at] }),
        isThis: token.id === tokenId,
      })),
    };
  }

  /** The token is void when this answers. */
  @Delete(':id')
  @HasId()
  @DescribesWithToken('walletTokenEnd', 'Revokes one token. Only for the owner.', {
    answer: jsonAnswer('The token is revoked.', WalletRevoked),
    more: { ...FORBIDDEN, ...NOT_FOUND },
  })
  async end(@CurrentSession() session: Session, @Param('id') id: string): Promise<WalletRevoked> {
    const { owner, wallet } = session;
    const token = (await this.issued.of(wallet.address)).find((one) => one.id === id);
    if (token === undefined) throw new WalletError('not_found', 'There is no such token.');
    const { expiresAt } = token;
    await this.sessions.revoke({ owner, wallet, tokenId: id, expiresAt });
    return { status: 'revoked' };
  }
}
