import type { INestApplication, Type } from '@nestjs/common';
import { SwaggerModule } from '@nestjs/swagger';
import type { JsonObject } from './openapi.js';

/** The OpenAPI schemas of DTO classes and of all they consist of, by name. */
export function schemasOf(...types: readonly Type[]): Record<string, JsonObject> {
  // The library describes classes only with an application around them.
  const without = { container: { getModules: () => new Map() } };
  const app = Object.assign(without, { getHttpAdapter: () => ({ getType: () => 'express' }) });
  const { components } = SwaggerModule.createDocument(
    app as unknown as INestApplication,
    { openapi: '3.1.1', info: { title: '', version: '' } },
    { extraModels: [...types], ignoreGlobalPrefix: true },
  );
  return JSON.parse(JSON.stringify(components?.schemas ?? {})) as Record<string, JsonObject>;
}
