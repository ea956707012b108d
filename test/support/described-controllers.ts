import { Module, type NestApplicationOptions, type Type } from '@nestjs/common';
import {
  EXCEPTION_FILTERS_METADATA,
  GUARDS_METADATA,
  INTERCEPTORS_METADATA,
  PARAMTYPES_METADATA,
  SELF_DECLARED_DEPS_METADATA,
} from '@nestjs/common/constants.js';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { OpenApiPart } from '../../src/platform/http/openapi.js';
import { describedRoutes } from '../../src/platform/openapi/described-routes.js';

const ENHANCERS = [GUARDS_METADATA, EXCEPTION_FILTERS_METADATA, INTERCEPTORS_METADATA];

interface Declared {
  readonly index: number;
  readonly param: unknown;
}

/** What controllers say of their routes, without anything behind them. */
export async function describedControllers(...controllers: readonly Type[]): Promise<OpenApiPart> {
  const tokens = new Set(
    controllers.flatMap((one) => [one, ...enhancersOf(one)]).flatMap(dependenciesOf),
  );
  @Module({
    controllers: [...controllers],
    providers: [...tokens].map((provide) => ({ provide, useValue: {} })),
  })
  class DescribedModule {}
  const options: NestApplicationOptions = { logger: false, abortOnError: false };
  const app = await NestFactory.create<NestExpressApplication>(DescribedModule, options);
  try {
    return describedRoutes(app);
  } finally {
    await app.close();
  }
}

/** Guards, filters and interceptors of a controller and of its handlers. */
function enhancersOf(controller: Type): Type[] {
  const prototype = controller.prototype as object;
  const handlers = Object.getOwnPropertyNames(prototype)
    .map((name) => Reflect.get(prototype, name) as unknown)
    .filter((handler) => typeof handler === 'function');
  return [controller, ...handlers]
    .flatMap((place) =>
      ENHANCERS.flatMap((key) => (Reflect.getMetadata(key, place) ?? []) as unknown[]),
    )
    .filter((enhancer) => typeof enhancer === 'function') as Type[];
}

function dependenciesOf(controller: Type): Type[] {
  const types = (Reflect.getMetadata(PARAMTYPES_METADATA, controller) ?? []) as unknown[];
  const declared = (Reflect.getMetadata(SELF_DECLARED_DEPS_METADATA, controller) ??
    []) as readonly Declared[];
  return types.map(
    (type, index) => (declared.find((one) => one.index === index)?.param ?? type) as Type,
  );
}
