import type { INestApplication, Type } from '@nestjs/common';
import { SwaggerModule } from '@nestjs/swagger';
import type { JsonObject } from './openapi.js';

/** The OpenAPI schemas of DTO classes and of their parts, by name. */
export function schemasOf(...types: readonly Type[]): Record<string, JsonObject> {
  // The library can describe classes only within an application.
  const without = { container: { getModules: () => new Map() } };
  const app = Object.assign(without, { getHttpAdapter: () => ({ getType: () => 'express' }) });
  const { components } = SwaggerModule.createDocument(
    app as unknown as INestApplication,
    { openapi: '3.1.1', info: { title: '', version: '' } },
    { extraModels: [...types], ignoreGlobalPrefix: true },
  );
  return asJson(components?.schemas ?? {}) as Record<string, JsonObject>;
}

/** A part of a document without undefined fields. */
export function asJson(part: object): unknown {
  // The library adds the TypeScript type of a property to its explicit schema.
  const withoutType = (_: string, value: unknown): unknown => {
    if (typeof value !== 'object' || value === null || !('$ref' in value)) return value;
    const { $ref } = value;
    return { $ref };
  };
  return JSON.parse(JSON.stringify(part), withoutType);
}
