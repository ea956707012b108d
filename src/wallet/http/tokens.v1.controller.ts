import { Controller, Delete, Get, Param, UseFilters, UseGuards } from '@nestjs/common';
import { jsonAnswer } from '../../platform/http/openapi.js';
import { IssuedTokens } from '../auth/issued-tokens.js';
import { Sessions } from '../auth/sessions.js';
import { HasId } from '../openapi/access.openapi.js';
import { DescribesWithToken, FORBIDDEN, NOT_FOUND } from '../openapi/operations.js';
import type { Session } from '../session.js';
import { WalletError } from '../wallet-error.js';
import { CurrentSession, WalletAccess, WalletAuthGuard } from './wallet-auth.guard.js';
import { WalletErrorFilter } from './wallet-error.filter.js';

type Answer = Readonly<Record<string, unknown>>;

/** Which tokens of a wallet are good for now, and the end of each. Those of OAuth hang on grants. */
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
  @DescribesWithToken('walletTokens', 'Which tokens are good for now. For the owner.', {
    answer: jsonAnswer('The newest first; none of OAuth.', 'WalletTokens'),
    more: FORBIDDEN,
  })
  async list(@CurrentSession() { wallet, tokenId }: Session): Promise<Answer> {
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

  /** It is void when this answers. */
  @Delete(':id')
  @HasId()
  @DescribesWithToken('walletTokenEnd', 'Ends one token. For the owner.', {
    answer: jsonAnswer('It is good for nothing now.', 'WalletRevoked'),
    more: { ...FORBIDDEN, ...NOT_FOUND },
  })
  async end(@CurrentSession() session: Session, @Param('id') id: string): Promise<Answer> {
    const { owner, wallet } = session;
    const token = (await this.issued.of(wallet.address)).find((one) => one.id === id);
    if (token === undefined) throw new WalletError('not_found', 'There is no such token.');
    const { expiresAt } = token;
    await this.sessions.revoke({ owner, wallet, tokenId: id, expiresAt });
    return { status: 'revoked' };
  }
}
