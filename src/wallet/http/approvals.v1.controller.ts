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
import { CONFLICT, Describes, NOT_FOUND, UNSIGNED } from '../openapi/operations.js';
import { ApprovalService } from './approval.service.js';
import { ApprovalChallengeDto, ApprovalDto, CollectDto } from './dto/sign-in.dto.js';
import {
  WalletApprovalChallenge,
  WalletApproved,
  WalletCode,
  WalletStatus,
} from './dto/sign-in.response.js';
import { WalletAccess, WalletAuthGuard } from './wallet-auth.guard.js';
import { WalletErrorFilter } from './wallet-error.filter.js';

/** Characters stored for an agent that asks for approval. */
const CODE_CHARACTERS = 200;

const STATUS_ANSWER = jsonAnswer(
  'The state of the approval. `token` is only in the first answer after the approval.',
  WalletStatus,
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
   * Clients post `true`, an object or nothing; the value is ignored. `code` is the agent's secret; the link holds only
   * the user code.
   */
  @Post('init')
  @Describes('walletInit', 'Requests access for an agent.', {
    description:
      'The body is ignored. The owner opens `auth_url` and compares `user_code`. The agent polls ' +
      'the status with `code`, which the agent keeps secret (RFC 8628).',
    answer: jsonAnswer('Two codes, and the page where the owner approves the agent.', WalletCode),
  })
  @HttpCode(200)
  async init(@Ip() from: string): Promise<WalletCode> {
    await this.room.assert(from, CODE_CHARACTERS + ANSWER_CHARACTERS);
    const { deviceCode, userCode, url } = await this.approvals.ask();
    return { code: deviceCode, user_code: userCode, auth_url: url, authUrl: url };
  }

  /** Kept for published clients. The agent's secret is in the URL, so clients should use POST. */
  @Get('status')
  @ApiQuery({ name: 'code', schema: { type: 'string', maxLength: 128 } })
  @Describes('walletStatus', 'The state of the approval, and once the token.', {
    description: 'Prefer the POST request, which keeps the code out of the logs of proxies.',
    answer: STATUS_ANSWER,
    more: NOT_FOUND,
  })
  async statusByQuery(@Query('code') code: unknown, @Ip() from: string): Promise<WalletStatus> {
    return this.#statusOf(typeof code === 'string' ? code : '', from);
  }

  @Post('status')
  @Describes('walletCollect', 'The state of the approval, and once the token.', {
    hasBody: true,
    answer: STATUS_ANSWER,
    more: NOT_FOUND,
  })
  @HttpCode(200)
  async status(@Body() { code }: CollectDto, @Ip() from: string): Promise<WalletStatus> {
    return this.#statusOf(code, from);
  }

  /** For the approval page: the rules, and the message that approves an agent under them. */
  @Post('approve/nonce')
  @Describes('walletApproveNonce', 'The message that an owner signs to approve an agent.', {
    hasBody: true,
    answer: jsonAnswer('The message names the code and the rules.', WalletApprovalChallenge),
    more: { ...NOT_FOUND, ...CONFLICT },
  })
  @HttpCode(200)
  async approvalNonce(
    @Body() { code, address }: ApprovalChallengeDto,
  ): Promise<WalletApprovalChallenge> {
    return this.approvals.challenge(code, address);
  }

  @Post('approve')
  @Describes('walletApprove', 'Approves an agent with the signature of its owner.', {
    hasBody: true,
    answer: jsonAnswer('The agent is approved and can collect its token.', WalletApproved),
    more: { ...UNSIGNED, ...NOT_FOUND, ...CONFLICT },
  })
  @HttpCode(200)
  async approve(@Body() { code, ...signed }: ApprovalDto): Promise<WalletApproved> {
    await this.approvals.approve(code, signed);
    return { status: 'approved' };
  }

  async #statusOf(deviceCode: string, from: string): Promise<WalletStatus> {
    const { isPending, token } = await this.approvals.collect(deviceCode, from);
    if (isPending) return { status: 'pending' };
    return { status: 'completed', ...(token !== undefined && { token }) };
  }
}
