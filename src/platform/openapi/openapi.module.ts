import { type DynamicModule, Module } from '@nestjs/common';
import { LandingController } from '../http/landing.controller.js';
import type { OpenApiPart } from '../http/openapi.js';
import { PageFilesController } from '../http/page-files.controller.js';
import { OPENAPI_PARTS, OpenApiController } from './openapi.controller.js';

@Module({})
export class OpenApiModule {
  /** @param parts - of the modules of this process. */
  static forRoot(parts: readonly OpenApiPart[]): DynamicModule {
    return {
      module: OpenApiModule,
      controllers: [OpenApiController, LandingController, PageFilesController],
      providers: [{ provide: OPENAPI_PARTS, useValue: parts }],
    };
  }
}
