import { Controller, Get, type INestApplication, Inject, Req, Res } from '@nestjs/common';
import type { Request, Response } from 'express';
import { AppConfig } from '../config/app-config.js';
import { sendJson } from '../http/json.js';
import type { OpenApiPart } from '../http/openapi.js';
import { sendPage } from '../http/page.js';
import { describedRoutes } from './described-routes.js';
import { openApiDocument } from './document.js';

export const OPENAPI_PARTS = Symbol('OPENAPI_PARTS');

/** The description of the interface, for programs and for people. */
@Controller()
export class OpenApiController {
  #routes: () => readonly OpenApiPart[] = () => [];
  #document: unknown;

  constructor(
    @Inject(OPENAPI_PARTS) private readonly parts: readonly OpenApiPart[],
    private readonly config: AppConfig,
  ) {}

  /** Names the application whose routes are described. */
  describe(app: INestApplication): void {
    this.#routes = () => [describedRoutes(app)];
  }

  /** Made when it is first asked for: most processes are never asked. */
  @Get('openapi.json')
  document(@Res() response: Response): void {
    this.#document ??= openApiDocument([...this.parts, ...this.#routes()]);
    sendJson(response, 200, this.#document);
  }

  @Get('docs')
  page(@Req() request: Request, @Res() response: Response): void {
    sendPage(response, request, { config: this.config, title: 'API', script: 'docs.js' });
  }
}
