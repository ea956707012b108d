import {
  Body,
  Controller,
  Get,
  HttpCode,
  Inject,
  Param,
  Post,
  UseFilters,
  UseGuards,
} from '@nestjs/common';
import { ApiParam } from '@nestjs/swagger';
import type { WalletConfig } from '../../platform/config/wallet-settings.js';
import { jsonAnswer } from '../../platform/http/openapi.js';
import { ChallengeDto, SignedMessageDto } from '../http/dto/sign-in.dto.js';
import { WalletApproved, WalletChallenge, WalletDenied } from '../http/dto/sign-in.response.js';
import { CurrentSession, WalletAccess, WalletAuthGuard } from '../http/wallet-auth.guard.js';
import { WalletErrorFilter } from '../http/wallet-error.filter.js';
import {
  CONFLICT,
  Describes,
  FORBIDDEN,
  NOT_FOUND,
  TOKEN,
  UNSIGNED,
} from '../openapi/operations.js';
import type { Session } from '../session.js';
import { WALLET_CLOCK, WALLET_SETTINGS, type WalletClock } from '../wallet-tokens.js';
import type { CurrentAsk } from './ask.js';
import { type AskView, askView } from './ask-view.js';
import { OwnerAnswers } from './owner-answers.js';

const AskParam = (): MethodDecorator =>
  ApiParam({
    name: 'ask',
    description: 'The id in the link.',
    schema: { type: 'string', maxLength: 64 },
  });

/** Requests for approval and their answers. The link allows reading; only the owner can approve. */
@Controller('v1')
@UseFilters(WalletErrorFilter)
@UseGuards(WalletAuthGuard)
@WalletAccess('anybody')
export class AsksV1Controller {
  constructor(
    private readonly answers: OwnerAnswers,
    @Inject(WALLET_SETTINGS) private readonly settings: WalletConfig,
    @Inject(WALLET_CLOCK) private readonly now: WalletClock,
  ) {}

  @Get('wallets/me/asks')
  @Describes('walletAsks', 'Payments that wait for the approval of the owner.', {
    security: TOKEN,
    answer: jsonAnswer('At most 20 requests; the first to expire comes first.', 'WalletAsks'),
  })
  @WalletAccess('session')
  async list(@CurrentSession() session: Session): Promise<{ readonly asks: readonly AskView[] }> {
    const open = await this.answers.open(session);
    return { asks: open.map((one) => this.#shown(one)) };
  }

  @Get('asks/:ask')
  @AskParam()
  @Describes('walletAsk', 'One payment that waits for the approval of the owner.', {
    description: 'Anyone with the link can read it.',
    answer: jsonAnswer('One payment.', 'WalletAsk'),
    more: NOT_FOUND,
  })
  async asked(@Param('ask') id: string): Promise<AskView> {
    return this.#shown(await this.answers.find(id));
  }

  @Post('asks/:ask/nonce')
  @AskParam()
  @Describes('walletAskNonce', 'The message that an owner signs to approve the payment.', {
    description: 'The message names payee, amount, asset, network, URL, purchase and expiry.',
    hasBody: true,
    answer: jsonAnswer('The message can be used once, within ten minutes.', WalletChallenge),
    more: { ...FORBIDDEN, ...NOT_FOUND, ...CONFLICT },
  })
  @HttpCode(200)
  async nonce(
    @Param('ask') id: string,
    @Body() { address }: ChallengeDto,
  ): Promise<WalletChallenge> {
    return this.answers.challenge(id, address);
  }

  @Post('asks/:ask/approve')
  @AskParam()
  @Describes('walletAskApprove', 'Approves the payment with the signature of the owner.', {
    description:
      'The wallet pays once, when the agent requests the purchase again before the request expires.',
    hasBody: true,
    answer: jsonAnswer('The answer of the owner is recorded in the journal.', WalletApproved),
    more: { ...UNSIGNED, ...FORBIDDEN, ...NOT_FOUND, ...CONFLICT },
  })
  @HttpCode(200)
  async approve(
    @Param('ask') id: string,
    @Body() signed: SignedMessageDto,
  ): Promise<WalletApproved> {
    await this.answers.approve(id, signed);
    return { status: 'approved' };
  }

  @Post('asks/:ask/deny')
  @AskParam()
  @Describes('walletAskDeny', 'Denies the payment.', {
    description:
      'Possible after an approval too, until the payment is charged. The body is ignored.',
    answer: jsonAnswer('The answer of the owner is recorded in the journal.', WalletDenied),
    more: { ...NOT_FOUND, ...CONFLICT },
  })
  @HttpCode(200)
  async deny(@Param('ask') id: string): Promise<WalletDenied> {
    await this.answers.deny(id);
    return { status: 'denied' };
  }

  #shown(standing: CurrentAsk): AskView {
    return askView(standing, this.settings.publicUrl, this.now());
  }
}
