import {
  Body,
  Controller,
  Get,
  Headers,
  HttpCode,
  Param,
  Post,
  Put,
  Query,
  UseFilters,
  UseGuards,
} from '@nestjs/common';
import { getAddress } from 'viem';
import { z } from 'zod';
import type { Session } from '../session.js';
import type { RpcReply } from '../signing/reply-store.js';
import { WalletRpc } from '../signing/rpc.js';
import { FundInput } from '../tools/fund-shapes.js';
import { ServiceDetailsInput, ServiceSearchInput } from '../tools/service-shapes.js';
import {
  CallToolInput,
  HistoryInput,
  PayInput,
  type PaymentOutput,
  QuoteInput,
  StatusInput,
} from '../tools/shapes.js';
import { WalletToolsService } from '../tools/wallet-tools.service.js';
import { PolicyService } from './policy.service.js';
import { CurrentSession, WalletAccess, WalletAuthGuard } from './wallet-auth.guard.js';
import { WalletErrorFilter } from './wallet-error.filter.js';
import { ZodPipe } from './zod.pipe.js';

type Answer = Readonly<Record<string, unknown>>;

/** A number as it is written; any other text is none. */
const Limit = z.preprocess(
  (text) => (typeof text === 'string' && /^\d{1,9}$/.test(text) ? Number(text) : text),
  HistoryInput.shape.limit,
);

/** The wallet of whoever bears the token. */
@Controller('v1/wallets/me')
@UseFilters(WalletErrorFilter)
@UseGuards(WalletAuthGuard)
@WalletAccess('session')
export class WalletsV1Controller {
  constructor(
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
  async call(
    @CurrentSession() session: Session,
    @Body(new ZodPipe(z.unknown())) body: unknown,
    @Headers('idempotency-key') key?: string,
    @Headers('privy-idempotency-key') olderKey?: string,
  ): Promise<RpcReply> {
    return this.rpc.call(session, body, olderKey ?? key);
  }

  @Get('balance')
  balance(@CurrentSession() session: Session): Promise<Answer> {
    return this.walletTools.of(session).balance();
  }

  @Post('fund')
  @HttpCode(200)
  async fund(
    @CurrentSession() session: Session,
    @Body(new ZodPipe(FundInput)) asked: z.infer<typeof FundInput>,
  ): Promise<Answer> {
    return this.walletTools.of(session).fund(asked);
  }

  @Get('policy')
  policy(@CurrentSession() session: Session): Promise<Answer> {
    return this.walletTools.of(session).policy();
  }

  @Put('policy')
  @WalletAccess('rules_maker')
  async setPolicy(
    @CurrentSession() session: Session,
    @Body(new ZodPipe(z.unknown())) rules: unknown,
  ): Promise<Answer> {
    await this.policies.replace(session, rules);
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
  async search(
    @CurrentSession() session: Session,
    @Body(new ZodPipe(ServiceSearchInput)) asked: z.infer<typeof ServiceSearchInput>,
  ): Promise<Answer> {
    return this.walletTools.of(session).searchServices(asked);
  }

  @Post('services/details')
  @HttpCode(200)
  async details(
    @CurrentSession() session: Session,
    @Body(new ZodPipe(ServiceDetailsInput)) asked: z.infer<typeof ServiceDetailsInput>,
  ): Promise<Answer> {
    return this.walletTools.of(session).serviceDetails(asked);
  }

  @Post('payments/quote')
  @HttpCode(200)
  async quote(
    @CurrentSession() session: Session,
    @Body(new ZodPipe(QuoteInput)) asked: z.infer<typeof QuoteInput>,
  ): Promise<Answer> {
    return this.walletTools.of(session).quote(asked);
  }

  @Post('payments')
  @HttpCode(200)
  pay(
    @CurrentSession() session: Session,
    @Body(new ZodPipe(PayInput)) asked: z.infer<typeof PayInput>,
  ): Promise<z.infer<typeof PaymentOutput>> {
    return this.walletTools.of(session).pay(asked);
  }

  @Post('payments/tool')
  @HttpCode(200)
  callTool(
    @CurrentSession() session: Session,
    @Body(new ZodPipe(CallToolInput)) asked: z.infer<typeof CallToolInput>,
  ): Promise<z.infer<typeof PaymentOutput>> {
    return this.walletTools.of(session).callTool(asked);
  }

  @Get('payments')
  async history(
    @CurrentSession() session: Session,
    @Query('limit', new ZodPipe(Limit)) limit: number,
  ): Promise<Answer> {
    return this.walletTools.of(session).history({ limit });
  }

  @Get('payments/:intentId')
  status(
    @CurrentSession() session: Session,
    @Param('intentId', new ZodPipe(StatusInput.shape.intentId)) intentId: string,
  ): Promise<z.infer<typeof PaymentOutput>> {
    return this.walletTools.of(session).status({ intentId });
  }
}
