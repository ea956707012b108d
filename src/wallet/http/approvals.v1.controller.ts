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
import { ApiQuery } from '@nestjs/swagger';
import { jsonAnswer } from '../../platform/http/openapi.js';
import { AnonymousRoom, ANSWER_CHARACTERS } from '../anonymous-room.js';
import type { SignInMessage } from '../auth/sign-in.js';
import { CONFLICT, Describes, NOT_FOUND, UNSIGNED } from '../openapi/operations.js';
import { ApprovalService } from './approval.service.js';
import { ApprovalChallengeDto, ApprovalDto, CollectDto } from './dto/sign-in.dto.js';
import { WalletAccess, WalletAuthGuard } from './wallet-auth.guard.js';
import { WalletErrorFilter } from './wallet-error.filter.js';

/** Characters of what is stored for an agent that asks to be let in. */
const CODE_CHARACTERS = 200;

const STATUS_ANSWER = jsonAnswer(
  '`token` comes with the first answer after the approval.',
  'WalletStatus',
);

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
  @Describes('walletInit', 'An agent asks to be let in.', {
    description:
      'A body is not looked at. The owner opens `auth_url` and compares `user_code`; the agent polls ' +
      'the status with `code`, which it shows to no one (RFC 8628).',
    answer: jsonAnswer('Two codes, and the page on which its owner approves.', 'WalletCode'),
  })
  @HttpCode(200)
  async init(@Ip() from: string): Promise<Readonly<Record<string, string>>> {
    await this.room.assert(from, CODE_CHARACTERS + ANSWER_CHARACTERS);
    const { deviceCode, userCode, url } = await this.approvals.ask();
    return { code: deviceCode, user_code: userCode, auth_url: url, authUrl: url };
  }

  /** As published clients ask. The agent's secret is in the URL: who can, posts it. */
  @Get('status')
  @ApiQuery({ name: 'code', schema: { type: 'string', maxLength: 128 } })
  @Describes('walletStatus', 'Whether the owner has approved; the token, once.', {
    description: 'The same by POST keeps the code out of the logs of whatever stands between.',
    answer: STATUS_ANSWER,
    more: NOT_FOUND,
  })
  async statusByQuery(
    @Query('code') code: unknown,
    @Ip() from: string,
  ): Promise<Readonly<Record<string, string>>> {
    return this.#statusOf(typeof code === 'string' ? code : '', from);
  }

  @Post('status')
  @Describes('walletCollect', 'Whether the owner has approved; the token, once.', {
    hasBody: true,
    answer: STATUS_ANSWER,
    more: NOT_FOUND,
  })
  @HttpCode(200)
  async status(
    @Body() { code }: CollectDto,
    @Ip() from: string,
  ): Promise<Readonly<Record<string, string>>> {
    return this.#statusOf(code, from);
  }

  /** For the approval page: the rules, and the message that approves an agent under them. */
  @Post('approve/nonce')
  @Describes('walletApproveNonce', 'The message that lets an agent in.', {
    hasBody: true,
    answer: jsonAnswer('It names the code and the rules.', 'WalletApprovalChallenge'),
    more: { ...NOT_FOUND, ...CONFLICT },
  })
  @HttpCode(200)
  async approvalNonce(
    @Body() { code, address }: ApprovalChallengeDto,
  ): Promise<SignInMessage & { readonly rules: string }> {
    return this.approvals.challenge(code, address);
  }

  @Post('approve')
  @Describes('walletApprove', 'An owner lets an agent in.', {
    hasBody: true,
    answer: jsonAnswer('The agent may collect its token.', 'WalletApproved'),
    more: { ...UNSIGNED, ...NOT_FOUND, ...CONFLICT },
  })
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
