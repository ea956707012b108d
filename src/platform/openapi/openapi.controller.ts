import { Controller, Get, type INestApplication, Inject, Res } from '@nestjs/common';
import type { Response } from 'express';
import { sendJson } from '../http/json.js';
import type { OpenApiPart } from '../http/openapi.js';
import { StaticFile } from '../http/static-file.js';
import { describedRoutes } from './described-routes.js';
import { openApiDocument } from './document.js';

export const OPENAPI_PARTS = Symbol('OPENAPI_PARTS');

/** The description of the interface, for programs and for people. */
@Controller()
export class OpenApiController {
  #routes: () => readonly OpenApiPart[] = () => [];
  #document: unknown;
  readonly #page = new StaticFile('docs.html');
  readonly #script = new StaticFile('docs.js');
  readonly #style = new StaticFile('site.css');

  constructor(@Inject(OPENAPI_PARTS) private readonly parts: readonly OpenApiPart[]) {}

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
  page(@Res() response: Response): void {
    this.#page.send(response);
  }

  @Get('docs/docs.js')
  script(@Res() response: Response): void {
    this.#script.send(response);
  }

  /** Of every page. */
  @Get('site.css')
  style(@Res() response: Response): void {
    this.#style.send(response);
  }
}
