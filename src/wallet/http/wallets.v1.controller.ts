import {
  Controller,
  Get,
  HttpCode,
  Param,
  Post,
  Put,
  Query,
  Req,
  UseFilters,
} from '@nestjs/common';
import type { Request } from 'express';
import { getAddress } from 'viem';
import { z } from 'zod';
import type { RpcReply } from '../signing/reply-store.js';
import { WalletRpc } from '../signing/rpc.js';
import { HistoryInput, PayInput, QuoteInput, StatusInput } from '../tools/shapes.js';
import { WalletToolsService } from '../tools/wallet-tools.service.js';
import { WalletError } from '../wallet-error.js';
import { PolicyService } from './policy.service.js';
import { WalletAuthGuard } from './wallet-auth.guard.js';
import { WalletErrorFilter } from './wallet-error.filter.js';

type Answer = Readonly<Record<string, unknown>>;

/** The wallet of whoever bears the token. */
@Controller('v1/wallets/me')
@UseFilters(WalletErrorFilter)
export class WalletsV1Controller {
  constructor(
    private readonly guard: WalletAuthGuard,
    private readonly rpc: WalletRpc,
    private readonly walletTools: WalletToolsService,
    private readonly policies: PolicyService,
  ) {}

  @Get()
  async wallet(@Req() request: Request): Promise<Answer> {
    const session = await this.guard.session(request);
    const facts = await this.walletTools.of(session).wallet();
    return { ethereum: getAddress(session.wallet.address), ...facts };
  }

  @Post('rpc')
  @HttpCode(200)
  async call(@Req() request: Request): Promise<RpcReply> {
    const session = await this.guard.session(request);
    const key = request.headers['privy-idempotency-key'] ?? request.headers['idempotency-key'];
    const body = await this.guard.json(request);
    return this.rpc.call(session, body, typeof key === 'string' ? key : undefined);
  }

  @Get('balance')
  async balance(@Req() request: Request): Promise<Answer> {
    return this.walletTools.of(await this.guard.session(request)).balance();
  }

  @Get('policy')
  async policy(@Req() request: Request): Promise<Answer> {
    return this.walletTools.of(await this.guard.session(request)).policy();
  }

  @Put('policy')
  async setPolicy(@Req() request: Request): Promise<Answer> {
    const session = await this.guard.rulesMaker(request);
    await this.policies.replace(session, await this.guard.json(request));
    return this.walletTools.of(session).policy();
  }

  /** Stopping is for anybody with a token; only new rules start it again. */
  @Post('stop')
  @HttpCode(200)
  async stop(@Req() request: Request): Promise<Answer> {
    const session = await this.guard.session(request);
    await this.policies.stop(session);
    return this.walletTools.of(session).policy();
  }

  @Post('payments/quote')
  @HttpCode(200)
  async quote(@Req() request: Request): Promise<Answer> {
    const session = await this.guard.session(request);
    return this.walletTools.of(session).quote(await this.guard.body(request, QuoteInput));
  }

  @Post('payments')
  @HttpCode(200)
  async pay(@Req() request: Request): Promise<Answer> {
    const session = await this.guard.session(request);
    return {
      ...(await this.walletTools.of(session).pay(await this.guard.body(request, PayInput))),
    };
  }

  @Get('payments')
  async history(@Req() request: Request, @Query('limit') limit?: string): Promise<Answer> {
    const session = await this.guard.session(request);
    const asked = checked(HistoryInput, limit === undefined ? {} : { limit: Number(limit) });
    return this.walletTools.of(session).history(asked);
  }

  @Get('payments/:intentId')
  async status(@Req() request: Request, @Param('intentId') intentId: string): Promise<Answer> {
    const session = await this.guard.session(request);
    return { ...(await this.walletTools.of(session).status(checked(StatusInput, { intentId }))) };
  }
}

function checked<T>(schema: z.ZodType<T>, value: unknown): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new WalletError('invalid_request', z.prettifyError(parsed.error));
}
