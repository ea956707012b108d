import type { INestApplication } from '@nestjs/common';
import { SwaggerModule } from '@nestjs/swagger';
import { asJson } from '../http/dto-schemas.js';
import type { JsonObject, OpenApiPart } from '../http/openapi.js';
import { IGNORES_UNKNOWN, NEEDS_ONE_OF } from '../http/request.pipe.js';

type Schemas = Readonly<Record<string, JsonObject>>;

type Described = Required<Pick<OpenApiPart, 'paths'>> & {
  readonly components?: { readonly schemas?: Schemas };
};

/** The routes of an application with `@Answers()`, and the schemas of their DTO classes. */
export function describedRoutes(app: INestApplication): OpenApiPart {
  const document = SwaggerModule.createDocument(
    app,
    { openapi: '3.1.1', info: { title: '', version: '' } },
    { onlyIncludeDecoratedEndpoints: true, autoTagControllers: false },
  );
  const { paths, components } = asJson(document) as Described;
  const all = components?.schemas ?? {};
  const validated = validatedSchemas(paths, all);
  const schemas = Object.entries(all).map(([name, schema]) => {
    const described = withNulls(schema);
    return [name, validated.has(name) ? asValidated(described) : described];
  });
  return {
    tags: [],
    paths: withOwnIds(paths),
    schemas: Object.fromEntries(schemas) as Schemas,
  };
}

/** The names of the schemas used in request bodies. Answers may get further fields in later versions. */
function validatedSchemas(paths: Described['paths'], schemas: Schemas): ReadonlySet<string> {
  const validated = new Set<string>();
  const add = (part: unknown): void => {
    for (const [, name = ''] of JSON.stringify(part ?? {}).matchAll(REFERENCE)) {
      if (validated.has(name)) continue;
      validated.add(name);
      add(schemas[name]);
    }
  };
  for (const item of Object.values(paths)) {
    for (const operation of Object.values(item)) add((operation as JsonObject)['requestBody']);
  }
  return validated;
}

const REFERENCE = /"#\/components\/schemas\/([^"]+)"/g;

type Operations = Readonly<Record<string, JsonObject & { readonly operationId: string }>>;

/**
 * Handlers with several paths describe one operation. The version of the path is appended to its id, or the last part
 * of the path replaces `{route}` in it. `{version}` in any text of the operation becomes `V1`, `V2` or `Root`.
 */
function withOwnIds(paths: Described['paths']): Described['paths'] {
  const ids = Object.values(paths).flatMap((item) =>
    Object.values(item as Operations).map(({ operationId }) => operationId),
  );
  const isShared = (id: string): boolean =>
    !id.includes('{') && ids.indexOf(id) !== ids.lastIndexOf(id);
  return Object.fromEntries(
    Object.entries(paths).map(([path, item]) => {
      const [, version = ''] = /^\/(v[12])\//.exec(path) ?? [];
      const operations = Object.entries(item as Operations).map(([method, operation]) => {
        const { operationId: id } = operation;
        const operationId = isShared(id) ? id + version.toUpperCase() : id;
        const text = JSON.stringify({ ...operation, operationId })
          .replaceAll('{route}', path.split('/').at(-1) ?? '')
          .replaceAll('{version}', version.toUpperCase() || 'Root');
        return [method, JSON.parse(text) as JsonObject];
      });
      return [path, Object.fromEntries(operations) as JsonObject];
    }),
  );
}

function asValidated({ [NEEDS_ONE_OF]: oneOf, ...schema }: JsonObject): JsonObject {
  const anyOf = Array.isArray(oneOf)
    ? { anyOf: oneOf.map((field): JsonObject => ({ required: [field] })) }
    : {};
  // RequestPipe refuses unknown fields of all other classes.
  const isOpen = IGNORES_UNKNOWN in schema;
  return { ...(!isOpen && { additionalProperties: false }), ...schema, ...anyOf };
}

/** `nullable` is OpenAPI 3.0; 3.1 uses a type instead. */
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
