import { Controller, Get, HttpCode, Post, Query, Req, UseFilters, UseGuards } from '@nestjs/common';
import type { Request } from 'express';
import { z } from 'zod';
import { AnonymousRoom, ANSWER_CHARACTERS } from '../anonymous-room.js';
import { ApprovalService } from './approval.service.js';
import { addressOf, SignedBody } from './sign-in.v1.controller.js';
import { WalletAccess, WalletAuthGuard } from './wallet-auth.guard.js';
import { WalletBody } from './wallet-body.service.js';
import { WalletErrorFilter } from './wallet-error.filter.js';

/** Characters of what is stored for an agent that asks to be let in. */
const CODE_CHARACTERS = 200;

const AskingToApprove = z.strictObject({ code: z.string().max(64), address: z.string().max(64) });
const Collecting = z.strictObject({ code: z.string().max(128) });
const Approval = z.strictObject({ code: z.string().max(64), ...SignedBody.shape });

/** How agents get their tokens; paths and answers of the published wallet skill. */
@Controller('v1')
@UseFilters(WalletErrorFilter)
@UseGuards(WalletAuthGuard)
@WalletAccess('anybody')
export class ApprovalsV1Controller {
  constructor(
    private readonly bodies: WalletBody,
    private readonly approvals: ApprovalService,
    private readonly room: AnonymousRoom,
  ) {}

  /**
   * Clients post `true`, an object or nothing; what it is does not matter. `code` is the agent's secret;
   * the link has the user code alone.
   */
  @Post('init')
  @HttpCode(200)
  async init(@Req() request: Request): Promise<Readonly<Record<string, string>>> {
    await this.room.assert(request.ip, CODE_CHARACTERS + ANSWER_CHARACTERS);
    const { deviceCode, userCode, url } = await this.approvals.ask();
    return { code: deviceCode, user_code: userCode, auth_url: url, authUrl: url };
  }

  /** As published clients ask. The agent's secret is in the URL: who can, posts it. */
  @Get('status')
  async statusByQuery(
    @Query('code') code: unknown,
    @Req() request: Request,
  ): Promise<Readonly<Record<string, string>>> {
    return this.#statusOf(typeof code === 'string' ? code : '', request);
  }

  @Post('status')
  @HttpCode(200)
  async status(@Req() request: Request): Promise<Readonly<Record<string, string>>> {
    const { code } = await this.bodies.of(request, Collecting);
    return this.#statusOf(code, request);
  }

  /** For the approval page: the rules, and the message that approves an agent under them. */
  @Post('approve/nonce')
  @HttpCode(200)
  async approvalNonce(@Req() request: Request): Promise<Readonly<Record<string, unknown>>> {
    const { code, address } = await this.bodies.of(request, AskingToApprove);
    return { ...(await this.approvals.challenge(code, addressOf(address))) };
  }

  @Post('approve')
  @HttpCode(200)
  async approve(@Req() request: Request): Promise<Readonly<Record<string, string>>> {
    const { code, ...signed } = await this.bodies.of(request, Approval);
    await this.approvals.approve(code, signed);
    return { status: 'approved' };
  }

  async #statusOf(deviceCode: string, request: Request): Promise<Readonly<Record<string, string>>> {
    const { isPending, token } = await this.approvals.collect(deviceCode, request.ip);
    if (isPending) return { status: 'pending' };
    return { status: 'completed', ...(token !== undefined && { token }) };
  }
}
