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
import { ApiParam } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import type Provider from 'oidc-provider';
import { AppConfig } from '../../platform/config/app-config.js';
import type { WalletConfig } from '../../platform/config/wallet-settings.js';
import { jsonAnswer } from '../../platform/http/openapi.js';
import { sendPage } from '../../platform/http/page.js';
import type { SignInMessage } from '../auth/sign-in.js';
import { ChallengeDto, SignedMessageDto } from '../http/dto/sign-in.dto.js';
import { WalletAccess, WalletAuthGuard } from '../http/wallet-auth.guard.js';
import { WalletErrorFilter } from '../http/wallet-error.filter.js';
import { CONFLICT, Describes, FORBIDDEN, NOT_FOUND, UNSIGNED } from '../openapi/operations.js';
import { WALLET_SETTINGS } from '../wallet-tokens.js';
import { AUTHORIZATION_SERVER } from './authorization-server.js';
import { type ConsentRequest, ConsentService, type ConsentVisit } from './consent.service.js';
import { bindTo } from './oauth.controller.js';

type Answer = Readonly<Record<string, unknown>>;

const COOKIE = 'With the cookie of the browser that the client sent here; 404 without.';
const UidParam = (): MethodDecorator =>
  ApiParam({ name: 'uid', schema: { type: 'string', maxLength: 128 } });

/**
 * The page where an owner answers a client, and what the page asks. Only the browser that came with the
 * request gets anywhere here: its cookie is good for these paths.
 */
@Controller('oauth/consent')
@UseFilters(WalletErrorFilter)
@UseGuards(WalletAuthGuard)
@WalletAccess('anybody')
export class ConsentController {
  constructor(
    @Inject(AUTHORIZATION_SERVER) private readonly server: Provider,
    private readonly consents: ConsentService,
    @Inject(WALLET_SETTINGS) private readonly settings: Pick<WalletConfig, 'publicUrl'>,
    private readonly config: AppConfig,
  ) {}

  @Get(':uid')
  page(@Req() request: Request, @Res() response: Response): void {
    sendPage(response, request, {
      config: this.config,
      title: 'Approve an application',
      script: 'consent.js',
    });
  }

  @Get(':uid/request')
  @UidParam()
  @Describes('walletConsentRequest', 'What a client asks the owner for.', {
    description: COOKIE,
    answer: jsonAnswer('As the page shows it.', 'WalletConsentRequest'),
    more: { ...NOT_FOUND, ...CONFLICT },
  })
  async asked(@Param('uid') uid: string, @Req() request: Request): Promise<ConsentRequest> {
    return this.consents.requestOf(this.#visitOf(uid, request));
  }

  @Post(':uid/nonce')
  @UidParam()
  @Describes('walletConsentNonce', 'The message that lets the client in.', {
    description: COOKIE,
    hasBody: true,
    answer: jsonAnswer('It names client, host, scopes and rules.', 'WalletApprovalChallenge'),
    more: { ...NOT_FOUND, ...CONFLICT },
  })
  @HttpCode(200)
  async nonce(
    @Param('uid') uid: string,
    @Req() request: Request,
    @Body() { address }: ChallengeDto,
  ): Promise<SignInMessage & { readonly rules: string }> {
    return this.consents.challenge(this.#visitOf(uid, request), address);
  }

  @Post(':uid/approve')
  @UidParam()
  @Describes('walletConsentApprove', 'The owner lets the client in.', {
    description: COOKIE,
    hasBody: true,
    answer: jsonAnswer('Where the browser goes on to.', 'WalletConsentAnswer'),
    more: { ...UNSIGNED, ...FORBIDDEN, ...NOT_FOUND, ...CONFLICT },
  })
  @HttpCode(200)
  async approve(
    @Param('uid') uid: string,
    @Req() request: Request,
    @Body() signed: SignedMessageDto,
  ): Promise<Answer> {
    return { location: await this.consents.approve(this.#visitOf(uid, request), signed) };
  }

  @Post(':uid/deny')
  @UidParam()
  @Describes('walletConsentDeny', 'The owner does not let the client in.', {
    description: COOKIE,
    answer: jsonAnswer('Where the browser goes on to.', 'WalletConsentAnswer'),
    more: { ...NOT_FOUND, ...CONFLICT },
  })
  @HttpCode(200)
  async deny(@Param('uid') uid: string, @Req() request: Request): Promise<Answer> {
    return { location: await this.consents.deny(this.#visitOf(uid, request)) };
  }

  #visitOf(uid: string, request: Request): ConsentVisit {
    const { res: response } = request;
    if (response === undefined) throw new TypeError('request.res is missing');
    bindTo(request, new URL(this.settings.publicUrl));
    return { server: this.server, uid, request, response };
  }
}
