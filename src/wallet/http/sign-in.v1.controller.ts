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
import { LEGACY_MESSAGE, SignIn, type SignInMessage } from '../auth/sign-in.js';
import { Describes, FORBIDDEN, TOKEN, UNSIGNED } from '../openapi/operations.js';
import type { Session } from '../session.js';
import { WalletError } from '../wallet-error.js';
import { WALLET_SETTINGS } from '../wallet-tokens.js';
import { ChallengeDto, SignedMessageDto } from './dto/sign-in.dto.js';
import { CurrentSession, WalletAccess, WalletAuthGuard } from './wallet-auth.guard.js';
import { WalletErrorFilter } from './wallet-error.filter.js';

/** Characters of what is stored for an owner that is about to sign. */
const NONCE_CHARACTERS = 600;

const OWNER_STATEMENT = 'Sign in as the owner of this wallet.';

interface TokenAnswer {
  readonly token: string;
}

/** How owners get their tokens, and how tokens are ended; paths and answers of the published wallet skill. */
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
  @Describes('walletLoginNonce', 'The message an owner signs to sign in.', {
    hasBody: true,
    answer: jsonAnswer('It can be used once, within ten minutes.', 'WalletChallenge'),
  })
  @HttpCode(200)
  async nonce(
    @Body() { address: owner }: ChallengeDto,
    @Ip() from: string,
  ): Promise<SignInMessage> {
    await this.room.assert(from, NONCE_CHARACTERS, () => this.sessions.knows(owner));
    return this.signIn.challenge(owner, OWNER_STATEMENT);
  }

  @Post('login')
  @Describes('walletLogin', 'An owner signs in.', {
    hasBody: true,
    answer: jsonAnswer('A token of the owner, good for 15 minutes.', 'WalletToken'),
    more: { ...UNSIGNED, ...FORBIDDEN },
  })
  @HttpCode(200)
  async login(@Body() signed: SignedMessageDto, @Ip() from: string): Promise<TokenAnswer> {
    if (signed.message !== LEGACY_MESSAGE) {
      const { owner, askedAt } = await this.signIn.accept(signed, OWNER_STATEMENT);
      return { token: await this.sessions.issue(owner, 'owner', { by: 'nonce', askedAt }) };
    }
    if (!this.settings.hasLegacyLogin) {
      throw new WalletError(
        'unauthorized',
        'The constant login message is off here. Sign a message from POST /v1/login/nonce.',
      );
    }
    const owner = this.signIn.signerOf(signed);
    await this.sessions.prepare(owner, from);
    return { token: await this.sessions.issue(owner, 'agent', { by: 'legacy' }) };
  }

  @Post('logout')
  @Describes('walletLogout', 'Ends the token it comes with.', {
    security: TOKEN,
    answer: jsonAnswer('It is good for nothing now.', 'WalletRevoked'),
  })
  @HttpCode(200)
  @WalletAccess('session')
  async logout(@CurrentSession() session: Session): Promise<Readonly<Record<string, string>>> {
    await this.sessions.revoke(session);
    return { status: 'revoked' };
  }

  /** Ends every token of the wallet; the owner's way to send all agents away. */
  @Post('logout/all')
  @Describes('walletLogoutAll', 'Ends every token of the wallet. For its owner.', {
    security: TOKEN,
    answer: jsonAnswer('They are good for nothing now.', 'WalletRevoked'),
    more: FORBIDDEN,
  })
  @HttpCode(200)
  @WalletAccess('rules_maker')
  async logoutAll(@CurrentSession() session: Session): Promise<Readonly<Record<string, string>>> {
    await this.sessions.revokeAll(session);
    return { status: 'revoked' };
  }
}
