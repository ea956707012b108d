import {
  Body,
  Controller,
  Get,
  HttpCode,
  Ip,
  Post,
  Query,
  UseFilters,
  UseGuards,
} from '@nestjs/common';
import { AnonymousRoom, ANSWER_CHARACTERS } from '../anonymous-room.js';
import type { SignInMessage } from '../auth/sign-in.js';
import { ApprovalService } from './approval.service.js';
import { ApprovalChallengeDto, ApprovalDto, CollectDto } from './dto/sign-in.dto.js';
import { WalletAccess, WalletAuthGuard } from './wallet-auth.guard.js';
import { WalletErrorFilter } from './wallet-error.filter.js';

/** Characters of what is stored for an agent that asks to be let in. */
const CODE_CHARACTERS = 200;

/** How agents get their tokens; paths and answers of the published wallet skill. */
@Controller('v1')
@UseFilters(WalletErrorFilter)
@UseGuards(WalletAuthGuard)
@WalletAccess('anybody')
export class ApprovalsV1Controller {
  constructor(
    private readonly approvals: ApprovalService,
    private readonly room: AnonymousRoom,
  ) {}

  /**
   * Clients post `true`, an object or nothing; what it is does not matter. `code` is the agent's secret;
   * the link has the user code alone.
   */
  @Post('init')
  @HttpCode(200)
  async init(@Ip() from: string): Promise<Readonly<Record<string, string>>> {
    await this.room.assert(from, CODE_CHARACTERS + ANSWER_CHARACTERS);
    const { deviceCode, userCode, url } = await this.approvals.ask();
    return { code: deviceCode, user_code: userCode, auth_url: url, authUrl: url };
  }

  /** As published clients ask. The agent's secret is in the URL: who can, posts it. */
  @Get('status')
  async statusByQuery(
    @Query('code') code: unknown,
    @Ip() from: string,
  ): Promise<Readonly<Record<string, string>>> {
    return this.#statusOf(typeof code === 'string' ? code : '', from);
  }

  @Post('status')
  @HttpCode(200)
  async status(
    @Body() { code }: CollectDto,
    @Ip() from: string,
  ): Promise<Readonly<Record<string, string>>> {
    return this.#statusOf(code, from);
  }

  /** For the approval page: the rules, and the message that approves an agent under them. */
  @Post('approve/nonce')
  @HttpCode(200)
  async approvalNonce(
    @Body() { code, address }: ApprovalChallengeDto,
  ): Promise<SignInMessage & { readonly rules: string }> {
    return this.approvals.challenge(code, address);
  }

  @Post('approve')
  @HttpCode(200)
  async approve(
    @Body() { code, ...signed }: ApprovalDto,
  ): Promise<Readonly<Record<string, string>>> {
    await this.approvals.approve(code, signed);
    return { status: 'approved' };
  }

  async #statusOf(deviceCode: string, from: string): Promise<Readonly<Record<string, string>>> {
    const { isPending, token } = await this.approvals.collect(deviceCode, from);
    if (isPending) return { status: 'pending' };
    return { status: 'completed', ...(token !== undefined && { token }) };
  }
}
