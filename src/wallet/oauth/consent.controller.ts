import {
  Body,
  Controller,
  Get,
  HttpCode,
  Inject,
  Param,
  Post,
  Req,
  UseFilters,
  UseGuards,
  UseInterceptors,
} from '@nestjs/common';
import { ApiParam } from '@nestjs/swagger';
import type { Request } from 'express';
import type Provider from 'oidc-provider';
import type { WalletConfig } from '../../platform/config/wallet-settings.js';
import { jsonAnswer } from '../../platform/http/openapi.js';
import { type PageContent, PageInterceptor } from '../../platform/http/page.js';
import { ChallengeDto, SignedMessageDto } from '../http/dto/sign-in.dto.js';
import { WalletApprovalChallenge } from '../http/dto/sign-in.response.js';
import { WalletAccess, WalletAuthGuard } from '../http/wallet-auth.guard.js';
import { WalletErrorFilter } from '../http/wallet-error.filter.js';
import { CONFLICT, Describes, FORBIDDEN, NOT_FOUND, UNSIGNED } from '../openapi/operations.js';
import { WALLET_SETTINGS } from '../wallet-tokens.js';
import { AUTHORIZATION_SERVER } from './authorization-server.js';
import { ConsentService, type ConsentVisit } from './consent.service.js';
import { WalletConsentAnswer, WalletConsentRequest } from './dto/consent.response.js';
import { bindTo } from './oauth.controller.js';

const COOKIE = 'Requires the cookie of the browser that the client sent here; 404 without it.';
const UidParam = (): MethodDecorator =>
  ApiParam({ name: 'uid', schema: { type: 'string', maxLength: 128 } });

/**
 * The page where an owner answers a client, and its API. Only the browser that came with the request has access: its
 * cookie is valid for these paths.
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
  ) {}

  @Get(':uid')
  @UseInterceptors(PageInterceptor)
  page(): PageContent {
    return { title: 'Approve an application', script: 'consent.js' };
  }

  @Get(':uid/request')
  @UidParam()
  @Describes('walletConsentRequest', 'The request of a client for access to a wallet.', {
    description: COOKIE,
    answer: jsonAnswer('The request, as the page shows it.', WalletConsentRequest),
    more: { ...NOT_FOUND, ...CONFLICT },
  })
  async asked(@Param('uid') uid: string, @Req() request: Request): Promise<WalletConsentRequest> {
    return this.consents.requestOf(this.#visitOf(uid, request));
  }

  @Post(':uid/nonce')
  @UidParam()
  @Describes('walletConsentNonce', 'The message that an owner signs to grant the client access.', {
    description: COOKIE,
    hasBody: true,
    answer: jsonAnswer(
      'The message names client, host, scopes and rules.',
      WalletApprovalChallenge,
    ),
    more: { ...NOT_FOUND, ...CONFLICT },
  })
  @HttpCode(200)
  async nonce(
    @Param('uid') uid: string,
    @Req() request: Request,
    @Body() { address }: ChallengeDto,
  ): Promise<WalletApprovalChallenge> {
    return this.consents.challenge(this.#visitOf(uid, request), address);
  }

  @Post(':uid/approve')
  @UidParam()
  @Describes('walletConsentApprove', 'Grants the client access.', {
    description: COOKIE,
    hasBody: true,
    answer: jsonAnswer('The URL that the browser opens next.', WalletConsentAnswer),
    more: { ...UNSIGNED, ...FORBIDDEN, ...NOT_FOUND, ...CONFLICT },
  })
  @HttpCode(200)
  async approve(
    @Param('uid') uid: string,
    @Req() request: Request,
    @Body() signed: SignedMessageDto,
  ): Promise<WalletConsentAnswer> {
    return { location: await this.consents.approve(this.#visitOf(uid, request), signed) };
  }

  @Post(':uid/deny')
  @UidParam()
  @Describes('walletConsentDeny', 'Denies the client access.', {
    description: COOKIE,
    answer: jsonAnswer('The URL that the browser opens next.', WalletConsentAnswer),
    more: { ...NOT_FOUND, ...CONFLICT },
  })
  @HttpCode(200)
  async deny(@Param('uid') uid: string, @Req() request: Request): Promise<WalletConsentAnswer> {
    return { location: await this.consents.deny(this.#visitOf(uid, request)) };
  }

  #visitOf(uid: string, request: Request): ConsentVisit {
    const { res: response } = request;
    if (response === undefined) throw new TypeError('request.res is missing');
    bindTo(request, new URL(this.settings.publicUrl));
    return { server: this.server, uid, request, response };
  }
}
