import type { INestApplication } from '@nestjs/common';
import { SwaggerModule } from '@nestjs/swagger';
import type { OpenApiPart } from '../http/openapi.js';
import { IGNORES_UNKNOWN } from '../http/request.pipe.js';

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
  // RequestPipe refuses unknown fields of the others.
  const closed = Object.entries(components?.schemas ?? {}).map(([name, schema]) => [
    name,
    IGNORES_UNKNOWN in schema ? schema : { additionalProperties: false, ...schema },
  ]);
  return { tags: [], paths, schemas: Object.fromEntries(closed) as OpenApiPart['schemas'] };
}
