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
  return {
    tags: [],
    paths: withOwnIds(paths),
    schemas: Object.fromEntries(schemas) as OpenApiPart['schemas'],
  };
}

type Operations = Readonly<Record<string, JsonObject & { readonly operationId: string }>>;

/**
 * Handlers that are served at several paths say one operation: its id ends with the version of the path, or has
 * `{route}` for the last part of it.
 */
function withOwnIds(paths: Described['paths']): Described['paths'] {
  const ids = Object.values(paths).flatMap((item) =>
    Object.values(item as Operations).map(({ operationId }) => operationId),
  );
  const isShared = (id: string): boolean => ids.indexOf(id) !== ids.lastIndexOf(id);
  return Object.fromEntries(
    Object.entries(paths).map(([path, item]) => {
      const [, version = ''] = /^\/(v[12])\//.exec(path) ?? [];
      const operations = Object.entries(item as Operations).map(([method, operation]) => {
        const { operationId: id } = operation;
        return [
          method,
          { ...operation, operationId: idAt(path, isShared(id) ? id + version.toUpperCase() : id) },
        ];
      });
      return [path, Object.fromEntries(operations) as JsonObject];
    }),
  );
}

const idAt = (path: string, id: string): string =>
  id.replace('{route}', path.split('/').at(-1) ?? '');

function asJudged({ [NEEDS_ONE_OF]: oneOf, properties, ...schema }: JsonObject): JsonObject {
  const anyOf = Array.isArray(oneOf)
    ? { anyOf: oneOf.map((field): JsonObject => ({ required: [field] })) }
    : {};
  // RequestPipe refuses unknown fields of all classes but those that say so.
  const isOpen = IGNORES_UNKNOWN in schema;
  const fields = Object.entries((properties ?? {}) as Readonly<Record<string, JsonObject>>);
  return {
    ...(!isOpen && { additionalProperties: false }),
    ...schema,
    properties: Object.fromEntries(fields.map(([name, field]) => [name, withNull(field)])),
    ...anyOf,
  };
}

/** `nullable` is of OpenAPI 3.0; 3.1 has a type for it. */
function withNull({ nullable, ...field }: JsonObject): JsonObject {
  return nullable === true ? { ...field, type: [field['type'] ?? null, 'null'] } : field;
}
