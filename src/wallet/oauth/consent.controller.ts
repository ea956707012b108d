import {
  Body,
  Controller,
  Get,
  HttpCode,
  Inject,
  Param,
  Post,
  Req,
  Res,
  UseFilters,
  UseGuards,
} from '@nestjs/common';
import type { Request, Response } from 'express';
import type Provider from 'oidc-provider';
import type { WalletConfig } from '../../platform/config/wallet-settings.js';
import { StaticFile } from '../../platform/http/static-file.js';
import type { SignInMessage } from '../auth/sign-in.js';
import { ChallengeDto, SignedMessageDto } from '../http/dto/sign-in.dto.js';
import { WalletAccess, WalletAuthGuard } from '../http/wallet-auth.guard.js';
import { WalletErrorFilter } from '../http/wallet-error.filter.js';
import { WALLET_SETTINGS } from '../wallet-tokens.js';
import { AUTHORIZATION_SERVER } from './authorization-server.js';
import { type ConsentRequest, ConsentService, type ConsentVisit } from './consent.service.js';
import { bindTo } from './oauth.controller.js';

type Answer = Readonly<Record<string, unknown>>;

/**
 * The page where an owner answers a client, and what the page asks. Only the browser that came with the
 * request gets anywhere here: its cookie is good for these paths.
 */
@Controller('oauth/consent')
@UseFilters(WalletErrorFilter)
@UseGuards(WalletAuthGuard)
@WalletAccess('anybody')
export class ConsentController {
  readonly #page = new StaticFile('consent.html');
  readonly #script = new StaticFile('consent.js');
  readonly #publicUrl: URL;

  constructor(
    @Inject(AUTHORIZATION_SERVER) private readonly server: Provider,
    private readonly consents: ConsentService,
    @Inject(WALLET_SETTINGS) { publicUrl }: WalletConfig,
  ) {
    this.#publicUrl = new URL(publicUrl);
  }

  @Get('page.js')
  script(@Res() response: Response): void {
    this.#script.send(response);
  }

  @Get(':uid')
  page(@Res() response: Response): void {
    this.#page.send(response);
  }

  @Get(':uid/request')
  async asked(@Param('uid') uid: string, @Req() request: Request): Promise<ConsentRequest> {
    return this.consents.requestOf(this.#visitOf(uid, request));
  }

  @Post(':uid/nonce')
  @HttpCode(200)
  async nonce(
    @Param('uid') uid: string,
    @Req() request: Request,
    @Body() { address }: ChallengeDto,
  ): Promise<SignInMessage & { readonly rules: string }> {
    return this.consents.challenge(this.#visitOf(uid, request), address);
  }

  @Post(':uid/approve')
  @HttpCode(200)
  async approve(
    @Param('uid') uid: string,
    @Req() request: Request,
    @Body() signed: SignedMessageDto,
  ): Promise<Answer> {
    return { location: await this.consents.approve(this.#visitOf(uid, request), signed) };
  }

  @Post(':uid/deny')
  @HttpCode(200)
  async deny(@Param('uid') uid: string, @Req() request: Request): Promise<Answer> {
    return { location: await this.consents.deny(this.#visitOf(uid, request)) };
  }

  #visitOf(uid: string, request: Request): ConsentVisit {
    const { res: response } = request;
    if (response === undefined) throw new TypeError('Express links each request to its response');
    bindTo(request, this.#publicUrl);
    return { server: this.server, uid, request, response };
  }
}
