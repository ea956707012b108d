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
import type { WalletConfig } from '../../platform/config/wallet-settings.js';
import type { SignInMessage } from '../auth/sign-in.js';
import { ChallengeDto, SignedMessageDto } from '../http/dto/sign-in.dto.js';
import { CurrentSession, WalletAccess, WalletAuthGuard } from '../http/wallet-auth.guard.js';
import { WalletErrorFilter } from '../http/wallet-error.filter.js';
import type { Session } from '../session.js';
import { WALLET_CLOCK, WALLET_SETTINGS, type WalletClock } from '../wallet-tokens.js';
import type { StandingAsk } from './ask.js';
import { type AskView, askView } from './ask-view.js';
import { OwnerAnswers } from './owner-answers.js';

type Answer = Readonly<Record<string, unknown>>;

/** What owners are asked, and their answers. Whoever has the link may read; only the owner can say yes. */
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
  @WalletAccess('session')
  async list(@CurrentSession() session: Session): Promise<Answer> {
    const open = await this.answers.open(session);
    return { asks: open.map((one) => this.#shown(one)) };
  }

  @Get('asks/:ask')
  async asked(@Param('ask') id: string): Promise<AskView> {
    return this.#shown(await this.answers.find(id));
  }

  @Post('asks/:ask/nonce')
  @HttpCode(200)
  async nonce(@Param('ask') id: string, @Body() { address }: ChallengeDto): Promise<SignInMessage> {
    return this.answers.challenge(id, address);
  }

  @Post('asks/:ask/approve')
  @HttpCode(200)
  async approve(@Param('ask') id: string, @Body() signed: SignedMessageDto): Promise<Answer> {
    await this.answers.approve(id, signed);
    return { status: 'approved' };
  }

  @Post('asks/:ask/deny')
  @HttpCode(200)
  async deny(@Param('ask') id: string): Promise<Answer> {
    await this.answers.deny(id);
    return { status: 'denied' };
  }

  #shown(standing: StandingAsk): AskView {
    return askView(standing, this.settings.publicUrl, this.now());
  }
}
