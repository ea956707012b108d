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
  UseGuards,
} from '@nestjs/common';
import type { Request } from 'express';
import { getAddress } from 'viem';
import { z } from 'zod';
import type { Session } from '../session.js';
import type { RpcReply } from '../signing/reply-store.js';
import { WalletRpc } from '../signing/rpc.js';
import { FundInput } from '../tools/fund-shapes.js';
import { ServiceDetailsInput, ServiceSearchInput } from '../tools/service-shapes.js';
import { CallToolInput, HistoryInput, PayInput, QuoteInput, StatusInput } from '../tools/shapes.js';
import { WalletToolsService } from '../tools/wallet-tools.service.js';
import { WalletError } from '../wallet-error.js';
import { PolicyService } from './policy.service.js';
import { CurrentSession, WalletAccess, WalletAuthGuard } from './wallet-auth.guard.js';
import { WalletBody } from './wallet-body.service.js';
import { WalletErrorFilter } from './wallet-error.filter.js';

type Answer = Readonly<Record<string, unknown>>;

/** The wallet of whoever bears the token. */
@Controller('v1/wallets/me')
@UseFilters(WalletErrorFilter)
@UseGuards(WalletAuthGuard)
@WalletAccess('session')
export class WalletsV1Controller {
  constructor(
    private readonly bodies: WalletBody,
    private readonly rpc: WalletRpc,
    private readonly walletTools: WalletToolsService,
    private readonly policies: PolicyService,
  ) {}

  @Get()
  async wallet(@CurrentSession() session: Session): Promise<Answer> {
    const facts = await this.walletTools.of(session).wallet();
    return { ethereum: getAddress(session.wallet.address), ...facts };
  }

  @Post('rpc')
  @HttpCode(200)
  async call(@CurrentSession() session: Session, @Req() request: Request): Promise<RpcReply> {
    const key = request.headers['privy-idempotency-key'] ?? request.headers['idempotency-key'];
    const body = await this.bodies.json(request);
    return this.rpc.call(session, body, typeof key === 'string' ? key : undefined);
  }

  @Get('balance')
  balance(@CurrentSession() session: Session): Promise<Answer> {
    return this.walletTools.of(session).balance();
  }

  @Post('fund')
  @HttpCode(200)
  async fund(@CurrentSession() session: Session, @Req() request: Request): Promise<Answer> {
    return this.walletTools.of(session).fund(await this.bodies.of(request, FundInput));
  }

  @Get('policy')
  policy(@CurrentSession() session: Session): Promise<Answer> {
    return this.walletTools.of(session).policy();
  }

  @Put('policy')
  @WalletAccess('rules_maker')
  async setPolicy(@CurrentSession() session: Session, @Req() request: Request): Promise<Answer> {
    await this.policies.replace(session, await this.bodies.json(request));
    return this.walletTools.of(session).policy();
  }

  /** Stopping is for anybody with a token; only new rules start it again. */
  @Post('stop')
  @HttpCode(200)
  async stop(@CurrentSession() session: Session): Promise<Answer> {
    await this.policies.stop(session);
    return this.walletTools.of(session).policy();
  }

  @Post('services/search')
  @HttpCode(200)
  async search(@CurrentSession() session: Session, @Req() request: Request): Promise<Answer> {
    const asked = await this.bodies.of(request, ServiceSearchInput);
    return this.walletTools.of(session).searchServices(asked);
  }

  @Post('services/details')
  @HttpCode(200)
  async details(@CurrentSession() session: Session, @Req() request: Request): Promise<Answer> {
    const asked = await this.bodies.of(request, ServiceDetailsInput);
    return this.walletTools.of(session).serviceDetails(asked);
  }

  @Post('payments/quote')
  @HttpCode(200)
  async quote(@CurrentSession() session: Session, @Req() request: Request): Promise<Answer> {
    return this.walletTools.of(session).quote(await this.bodies.of(request, QuoteInput));
  }

  @Post('payments')
  @HttpCode(200)
  async pay(@CurrentSession() session: Session, @Req() request: Request): Promise<Answer> {
    return {
      ...(await this.walletTools.of(session).pay(await this.bodies.of(request, PayInput))),
    };
  }

  @Post('payments/tool')
  @HttpCode(200)
  async callTool(@CurrentSession() session: Session, @Req() request: Request): Promise<Answer> {
    const asked = await this.bodies.of(request, CallToolInput);
    return { ...(await this.walletTools.of(session).callTool(asked)) };
  }

  @Get('payments')
  async history(
    @CurrentSession() session: Session,
    @Query('limit') limit?: string,
  ): Promise<Answer> {
    const asked = checked(HistoryInput, limit === undefined ? {} : { limit: numberIn(limit) });
    return this.walletTools.of(session).history(asked);
  }

  @Get('payments/:intentId')
  async status(
    @CurrentSession() session: Session,
    @Param('intentId') intentId: string,
  ): Promise<Answer> {
    return { ...(await this.walletTools.of(session).status(checked(StatusInput, { intentId }))) };
  }
}

function checked<T>(schema: z.ZodType<T>, value: unknown): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new WalletError('invalid_request', z.prettifyError(parsed.error));
}

/** A number as it is written; any other text is none. */
function numberIn(text: string): number {
  return /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
}
