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
import type { SignInMessage } from '../auth/sign-in.js';
import { ChallengeDto, SignedMessageDto } from '../http/dto/sign-in.dto.js';
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

type Answer = Readonly<Record<string, unknown>>;

const AskParam = (): MethodDecorator =>
  ApiParam({
    name: 'ask',
    description: 'As the link names it.',
    schema: { type: 'string', maxLength: 64 },
  });

/** Questions to owners, and their answers. The link allows reading; only the owner can say yes. */
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
  @Describes('walletAsks', 'What the owner is asked, and has not run out.', {
    security: TOKEN,
    answer: jsonAnswer('The next to run out first; 20 at most.', 'WalletAsks'),
  })
  @WalletAccess('session')
  async list(@CurrentSession() session: Session): Promise<Answer> {
    const open = await this.answers.open(session);
    return { asks: open.map((one) => this.#shown(one)) };
  }

  @Get('asks/:ask')
  @AskParam()
  @Describes('walletAsk', 'What the owner is asked.', {
    description: 'For anyone who has the link.',
    answer: jsonAnswer('One payment.', 'WalletAsk'),
    more: NOT_FOUND,
  })
  async asked(@Param('ask') id: string): Promise<AskView> {
    return this.#shown(await this.answers.find(id));
  }

  @Post('asks/:ask/nonce')
  @AskParam()
  @Describes('walletAskNonce', 'The message that approves this payment.', {
    description: 'It names payee, amount, asset, network, URL, purchase and expiry.',
    hasBody: true,
    answer: jsonAnswer('It can be used once, within ten minutes.', 'WalletChallenge'),
    more: { ...FORBIDDEN, ...NOT_FOUND, ...CONFLICT },
  })
  @HttpCode(200)
  async nonce(@Param('ask') id: string, @Body() { address }: ChallengeDto): Promise<SignInMessage> {
    return this.answers.challenge(id, address);
  }

  @Post('asks/:ask/approve')
  @AskParam()
  @Describes('walletAskApprove', 'The owner approves this payment.', {
    description: 'It is paid when the agent asks for the purchase again, once, until it expires.',
    hasBody: true,
    answer: jsonAnswer('It is in the journal.', 'WalletApproved'),
    more: { ...UNSIGNED, ...FORBIDDEN, ...NOT_FOUND, ...CONFLICT },
  })
  @HttpCode(200)
  async approve(@Param('ask') id: string, @Body() signed: SignedMessageDto): Promise<Answer> {
    await this.answers.approve(id, signed);
    return { status: 'approved' };
  }

  @Post('asks/:ask/deny')
  @AskParam()
  @Describes('walletAskDeny', 'This payment is not made.', {
    description: 'Also after a yes, until the payment is charged. A body is not looked at.',
    answer: jsonAnswer('It is in the journal.', 'WalletDenied'),
    more: { ...NOT_FOUND, ...CONFLICT },
  })
  @HttpCode(200)
  async deny(@Param('ask') id: string): Promise<Answer> {
    await this.answers.deny(id);
    return { status: 'denied' };
  }

  #shown(standing: CurrentAsk): AskView {
    return askView(standing, this.settings.publicUrl, this.now());
  }
}
