import type { INestApplication } from '@nestjs/common';
import { SwaggerModule } from '@nestjs/swagger';
import type { JsonObject, OpenApiPart } from '../http/openapi.js';
import { IGNORES_UNKNOWN, NEEDS_ONE_OF } from '../http/request.pipe.js';

type Described = Required<Pick<OpenApiPart, 'paths'>> & {
  readonly components?: Partial<Pick<OpenApiPart, 'schemas'>>;
};

/** The routes of an application that have `@Answers()`, and the schemas of their DTO classes. */
export function describedRoutes(app: INestApplication): OpenApiPart {
  const document = SwaggerModule.createDocument(
    app,
    { openapi: '3.1.1', info: { title: '', version: '' } },
    { onlyIncludeDecoratedEndpoints: true, autoTagControllers: false },
  );
  // Fields that are undefined are left out.
  const { paths, components } = JSON.parse(JSON.stringify(document)) as Described;
  const schemas = Object.entries(components?.schemas ?? {}).map(([name, schema]) => [
    name,
    asJudged(schema),
  ]);
  return { tags: [], paths, schemas: Object.fromEntries(schemas) as OpenApiPart['schemas'] };
}

function asJudged({ [NEEDS_ONE_OF]: oneOf, ...schema }: JsonObject): JsonObject {
  const anyOf = Array.isArray(oneOf)
    ? { anyOf: oneOf.map((field): JsonObject => ({ required: [field] })) }
    : {};
  // RequestPipe refuses unknown fields of all classes but those that say so.
  const isOpen = IGNORES_UNKNOWN in schema;
  return { ...(!isOpen && { additionalProperties: false }), ...schema, ...anyOf };
}
