import type { INestApplication } from '@nestjs/common';
import { SwaggerModule } from '@nestjs/swagger';
import type { JsonObject, OpenApiPart } from '../http/openapi.js';
import { IGNORES_UNKNOWN, NEEDS_ONE_OF } from '../http/request.pipe.js';

type Schemas = Readonly<Record<string, JsonObject>>;

type Described = Required<Pick<OpenApiPart, 'paths'>> & {
  readonly components?: { readonly schemas?: Schemas };
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
  const all = components?.schemas ?? {};
  const judged = judgedSchemas(paths, all);
  const schemas = Object.entries(all).map(([name, schema]) => {
    const described = withNulls(schema);
    return [name, judged.has(name) ? asJudged(described) : described];
  });
  return {
    tags: [],
    paths: withOwnIds(paths),
    schemas: Object.fromEntries(schemas) as Schemas,
  };
}

/** The names of the schemas that bodies of requests consist of. Answers may get further fields. */
function judgedSchemas(paths: Described['paths'], schemas: Schemas): ReadonlySet<string> {
  const judged = new Set<string>();
  const add = (part: unknown): void => {
    for (const [, name = ''] of JSON.stringify(part ?? {}).matchAll(REFERENCE)) {
      if (judged.has(name)) continue;
      judged.add(name);
      add(schemas[name]);
    }
  };
  for (const item of Object.values(paths)) {
    for (const operation of Object.values(item)) add((operation as JsonObject)['requestBody']);
  }
  return judged;
}

const REFERENCE = /"#\/components\/schemas\/([^"]+)"/g;

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

function asJudged({ [NEEDS_ONE_OF]: oneOf, ...schema }: JsonObject): JsonObject {
  const anyOf = Array.isArray(oneOf)
    ? { anyOf: oneOf.map((field): JsonObject => ({ required: [field] })) }
    : {};
  // RequestPipe refuses unknown fields of all classes but those that say so.
  const isOpen = IGNORES_UNKNOWN in schema;
  return { ...(!isOpen && { additionalProperties: false }), ...schema, ...anyOf };
}

/** `nullable` is of OpenAPI 3.0; 3.1 has a type for it. */
function withNulls({ properties, ...schema }: JsonObject): JsonObject {
  if (properties === undefined) return schema;
  const fields = Object.entries(properties as Readonly<Record<string, JsonObject>>);
  return {
    ...schema,
    properties: Object.fromEntries(fields.map(([name, field]) => [name, withNull(field)])),
  };
}

function withNull({ nullable, ...field }: JsonObject): JsonObject {
  if (nullable !== true) return field;
  const type = field['type'];
  return type === undefined
    ? { anyOf: [field, { type: 'null' }] }
    : { ...field, type: [type, 'null'] };
}
