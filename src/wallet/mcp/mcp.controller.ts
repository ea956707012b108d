import { type NodeMcpRequestHandler, toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler } from '@modelcontextprotocol/server';
import {
  All,
  Controller,
  Inject,
  MethodNotAllowedException,
  NotAcceptableException,
  Req,
  Res,
  UseFilters,
  UseGuards,
} from '@nestjs/common';
import type { Request, Response } from 'express';
import { PinoLogger } from 'nestjs-pino';
import type { WalletConfig } from '../../platform/config/wallet-settings.js';
import { JsonBodyReader } from '../../platform/http/request-body.js';
import { CurrentSession, WalletAccess, WalletAuthGuard } from '../http/wallet-auth.guard.js';
import { WalletErrorFilter } from '../http/wallet-error.filter.js';
import { assertWithinBounds } from '../http/zod.pipe.js';
import { challengeOf, scopesNeeded } from '../oauth/oauth-names.js';
import type { Session } from '../session.js';
import { WalletToolsService } from '../tools/wallet-tools.service.js';
import { WalletError } from '../wallet-error.js';
import { WALLET_SETTINGS } from '../wallet-tokens.js';
import { acceptedForm, acceptHeaderOf, contentTypeOf, inAcceptedForm } from './accepted-form.js';
import { McpSiteGuard } from './mcp-site.guard.js';
import { walletServer } from './wallet-server.js';

/**
 * The wallet for agents, over the streamable HTTP of MCP in both generations. It keeps no state between requests, so
 * any process can answer any request.
 */
@Controller('mcp')
@UseFilters(WalletErrorFilter)
@UseGuards(McpSiteGuard, WalletAuthGuard)
@WalletAccess('resource')
export class McpController {
  constructor(
    private readonly bodies: JsonBodyReader,
    private readonly walletTools: WalletToolsService,
    @Inject(WALLET_SETTINGS) private readonly settings: WalletConfig,
    private readonly logger: PinoLogger,
  ) {}

  /** With OAuth on, clients discover how to get access here. */
  @All()
  serve(
    @CurrentSession() session: Session,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    return this.#answer(session, request, response);
  }

  /**
   * For tokens that a user pasted: some clients drop their headers when they find an authorization server, so none is
   * announced here.
   */
  @All('token')
  @WalletAccess('session')
  serveToken(
    @CurrentSession() session: Session,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    return this.#answer(session, request, response);
  }

  async #answer(session: Session, request: Request, response: Response): Promise<void> {
    if (session.role !== 'agent') {
      throw new WalletError(
        'forbidden',
        'This token belongs to the owner and can change the rules. An agent gets its own token from POST /v1/init.',
      );
    }
    // There are no sessions to listen to with GET, or to end with DELETE.
    if (request.method !== 'POST') {
      response.setHeader('Allow', 'POST');
      throw new MethodNotAllowedException('This path accepts only POST.');
    }
    const form = acceptedForm(request);
    if (form === undefined) {
      throw new NotAcceptableException('Accept must allow application/json or text/event-stream.');
    }
    request.headers.accept = acceptHeaderOf(form);
    request.headers['content-type'] = contentTypeOf(request);
    const body = await this.bodies.json(request, response);
    assertWithinBounds(body);
    // Each call counts against the rate limit; the protocol has had no batches since 2025-06-18.
    if (Array.isArray(body)) {
      throw new WalletError('invalid_request', 'Send one message per request, not a batch.');
    }
    this.#assertScope(session, body);
    // A session without the scope for files gets no file resources either.
    await this.#serverOf(session, session.scopes?.has('hub') !== false)(request, response, body);
  }

  /** A server for one request, because it holds the caller's session. */
  #serverOf(session: Session, mayReadFiles: boolean): NodeMcpRequestHandler {
    const tools = this.walletTools.of(session);
    const refusing = {
      publicUrl: this.settings.publicUrl,
      onFailure: (err: unknown): void => {
        this.logger.error({ err }, 'tool failed');
      },
    };
    const { fetch } = createMcpHandler(() => walletServer(tools, refusing, mayReadFiles), {
      legacy: 'stateless',
      // There are no changes to subscribe to, and a stream would outlive a process that shuts down.
      maxSubscriptions: 0,
      // Errors of clients, which also get an answer.
      onerror: (err) => {
        this.logger.debug({ err }, 'MCP request refused');
      },
    });
    return toNodeHandler(
      { fetch: inAcceptedForm(fetch) },
      {
        onerror: (err) => {
          this.logger.error({ err }, 'MCP request failed');
        },
      },
    );
  }

  /** @throws WalletError whose challenge leads a client to ask its owner for more scopes. */
  #assertScope({ scopes }: Session, message: unknown): void {
    const missing = scopesNeeded(message).filter((one) => scopes?.has(one) === false);
    if (missing.length === 0) return;
    const { publicUrl } = this.settings;
    const why = `The owner has not granted the scope ${missing.join(' ')} to this token.`;
    const challenge = challengeOf(publicUrl, missing, 'insufficient_scope');
    throw new WalletError('forbidden', why, { challenge });
  }
}
