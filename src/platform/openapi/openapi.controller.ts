import { Controller, Get, type INestApplication, Inject, UseInterceptors } from '@nestjs/common';
import type { OpenApiPart } from '../http/openapi.js';
import { type PageContent, PageInterceptor } from '../http/page.js';
import { describedRoutes } from './described-routes.js';
import { openApiDocument } from './document.js';

export const OPENAPI_PARTS = Symbol('OPENAPI_PARTS');

/** The OpenAPI document, for programs and as a page. */
@Controller()
export class OpenApiController {
  #routes: () => readonly OpenApiPart[] = () => [];
  #document: object | undefined;

  constructor(@Inject(OPENAPI_PARTS) private readonly parts: readonly OpenApiPart[]) {}

  /** Sets the application whose routes are described. */
  describe(app: INestApplication): void {
    this.#routes = () => [describedRoutes(app)];
  }

  /** Built on demand, because most processes are never asked. */
  @Get('openapi.json')
  document(): object {
    this.#document ??= openApiDocument([...this.parts, ...this.#routes()]);
    return this.#document;
  }

  @Get('docs')
  @UseInterceptors(PageInterceptor)
  page(): PageContent {
    return { title: 'API', script: 'docs.js' };
  }
}
