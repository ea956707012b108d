import {
  Body,
  Controller,
  HttpCode,
  Inject,
  Ip,
  Post,
  UseFilters,
  UseGuards,
} from '@nestjs/common';
import type { WalletConfig } from '../../platform/config/wallet-settings.js';
import { jsonAnswer } from '../../platform/http/openapi.js';
import { AnonymousRoom } from '../anonymous-room.js';
import { Sessions } from '../auth/sessions.js';
import { LEGACY_MESSAGE, SignIn } from '../auth/sign-in.js';
import { Describes, FORBIDDEN, TOKEN, UNSIGNED } from '../openapi/operations.js';
import type { Session } from '../session.js';
import { WalletError } from '../wallet-error.js';
import { WALLET_SETTINGS } from '../wallet-tokens.js';
import { ChallengeDto, SignedMessageDto } from './dto/sign-in.dto.js';
import { WalletChallenge, WalletRevoked, WalletToken } from './dto/sign-in.response.js';
import { CurrentSession, WalletAccess, WalletAuthGuard } from './wallet-auth.guard.js';
import { WalletErrorFilter } from './wallet-error.filter.js';

/** Characters stored for an owner that is about to sign. */
const NONCE_CHARACTERS = 600;

const OWNER_STATEMENT = 'Sign in as the owner of this wallet.';

/** How owners get tokens and revoke them; paths and answers of the published wallet skill. */
@Controller('v1')
@UseFilters(WalletErrorFilter)
@UseGuards(WalletAuthGuard)
@WalletAccess('anybody')
export class SignInV1Controller {
  constructor(
    private readonly signIn: SignIn,
    private readonly sessions: Sessions,
    private readonly room: AnonymousRoom,
    @Inject(WALLET_SETTINGS) private readonly settings: WalletConfig,
  ) {}

  @Post('login/nonce')
  @Describes('walletLoginNonce', 'The message that an owner signs to sign in.', {
    hasBody: true,
    answer: jsonAnswer('The message can be used once, within ten minutes.', WalletChallenge),
  })
  @HttpCode(200)
  async nonce(
    @Body() { address: owner }: ChallengeDto,
    @Ip() from: string,
  ): Promise<WalletChallenge> {
    await this.room.assert(from, NONCE_CHARACTERS, () => this.sessions.knows(owner));
    return this.signIn.challenge(owner, OWNER_STATEMENT);
  }

  @Post('login')
  @Describes('walletLogin', 'Signs an owner in.', {
    hasBody: true,
    answer: jsonAnswer('A token of the owner, valid for 15 minutes.', WalletToken),
    more: { ...UNSIGNED, ...FORBIDDEN },
  })
  @HttpCode(200)
  async login(@Body() signed: SignedMessageDto, @Ip() from: string): Promise<WalletToken> {
    if (signed.message !== LEGACY_MESSAGE) {
      const { owner, askedAt } = await this.signIn.accept(signed, OWNER_STATEMENT);
      return { token: await this.sessions.issue(owner, 'owner', { by: 'nonce', askedAt }) };
    }
    if (!this.settings.hasLegacyLogin) {
      throw new WalletError(
        'unauthorized',
        'The constant login message is off: `WALLET_LEGACY_LOGIN` is not true. Sign a message from POST /v1/login/nonce.',
      );
    }
    const owner = this.signIn.signerOf(signed);
    await this.sessions.prepare(owner, from);
    return { token: await this.sessions.issue(owner, 'agent', { by: 'legacy' }) };
  }

  @Post('logout')
  @Describes('walletLogout', 'Revokes the token of this request.', {
    security: TOKEN,
    answer: jsonAnswer('The token is revoked.', WalletRevoked),
  })
  @HttpCode(200)
  @WalletAccess('session')
  async logout(@CurrentSession() session: Session): Promise<WalletRevoked> {
    await this.sessions.revoke(session);
    return { status: 'revoked' };
  }

  /** Revokes every token of the wallet, so that the owner can lock out all agents. */
  @Post('logout/all')
  @Describes('walletLogoutAll', 'Revokes every token of the wallet. Only for its owner.', {
    security: TOKEN,
    answer: jsonAnswer('All tokens of the wallet are revoked.', WalletRevoked),
    more: FORBIDDEN,
  })
  @HttpCode(200)
  @WalletAccess('rules_maker')
  async logoutAll(@CurrentSession() session: Session): Promise<WalletRevoked> {
    await this.sessions.revokeAll(session);
    return { status: 'revoked' };
  }
}
