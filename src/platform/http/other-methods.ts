import type { IncomingMessage } from 'node:http';
import {
  Injectable,
  MethodNotAllowedException,
  type OnModuleInit,
  RequestMethod,
  type Type,
} from '@nestjs/common';
import { METHOD_METADATA, PATH_METADATA } from '@nestjs/common/constants.js';
import { DiscoveryService, HttpAdapterHost, MetadataScanner, Reflector } from '@nestjs/core';
import type { Express } from 'express';
import { isOps, OpsOnly } from './ops.js';

/** Metadata of a handler from its decorators. */
interface KnownRoute {
  /** In the form of Express: `/v2/settlements/:id`. */
  readonly path: string;
  readonly method: string;
  readonly isOpsOnly: boolean;
}

type Handler = (...args: unknown[]) => unknown;

const KNOWN_METHODS = Symbol('knownMethods');

interface NotedRequest extends IncomingMessage {
  [KNOWN_METHODS]?: Set<string>;
}

/**
 * Answers 405 with `Allow` for a known path and another method, where the framework answers 404. It runs after all
 * routes, so a request with a route never gets here.
 */
@Injectable()
export class OtherMethods implements OnModuleInit {
  constructor(
    private readonly adapter: HttpAdapterHost,
    private readonly discovery: DiscoveryService,
    private readonly scanner: MetadataScanner,
    private readonly reflector: Reflector,
  ) {}

  /** At this time the routes are registered, and the handler for unknown paths is not. */
  onModuleInit(): void {
    const express = this.adapter.httpAdapter.getInstance<Express>();
    for (const [path, routes] of byPath(this.#routes())) {
      express.all(path, (request: NotedRequest, _response, next) => {
        // The public port hides the routes of operators.
        const seen = routes.filter(({ isOpsOnly }) => !isOpsOnly || isOps(request));
        request[KNOWN_METHODS] = methodsOf(seen, request[KNOWN_METHODS]);
        next();
      });
    }
    express.use((request: NotedRequest, response, next) => {
      const methods = request[KNOWN_METHODS];
      if (methods === undefined || methods.size === 0) {
        next();
        return;
      }
      const allowed = allowOf(methods, isOps(request));
      response.setHeader('Allow', allowed);
      next(new MethodNotAllowedException(`This path accepts only ${allowed}.`));
    });
  }

  #routes(): KnownRoute[] {
    return this.discovery
      .getControllers()
      .flatMap(({ metatype, instance }) =>
        typeof metatype === 'function' && typeof instance === 'object' && instance !== null
          ? this.#routesOf(metatype as Type, Object.getPrototypeOf(instance) as object)
          : [],
      );
  }

  #routesOf(type: Type, prototype: object): KnownRoute[] {
    const prefixes = pathsIn(type);
    return this.scanner.getAllMethodNames(prototype).flatMap((name) => {
      const handler = Reflect.get(prototype, name) as Handler;
      const method = Reflect.getMetadata(METHOD_METADATA, handler) as RequestMethod | undefined;
      if (method === undefined) return [];
      const isOpsOnly = this.reflector.getAllAndOverride(OpsOnly, [handler, type]) !== undefined;
      return prefixes.flatMap((prefix) =>
        pathsIn(handler).map((path) => ({
          path: joined(prefix, path),
          method: RequestMethod[method],
          isOpsOnly,
        })),
      );
    });
  }
}

function pathsIn(decorated: Type | Handler): readonly string[] {
  const path = Reflect.getMetadata(PATH_METADATA, decorated) as string | string[] | undefined;
  return Array.isArray(path) ? path : [path ?? ''];
}

function joined(prefix: string, path: string): string {
  const parts = [prefix, path].flatMap((part) => part.split('/')).filter((part) => part !== '');
  return `/${parts.join('/')}`;
}

/** Paths with some known methods. */
export function byPath(routes: readonly KnownRoute[]): ReadonlyMap<string, readonly KnownRoute[]> {
  const found = new Map<string, readonly KnownRoute[]>();
  for (const route of routes) found.set(route.path, [...(found.get(route.path) ?? []), route]);
  const open = [...found].filter(([, all]) => all.every(({ method }) => method !== 'ALL'));
  return new Map(open);
}

function methodsOf(routes: readonly KnownRoute[], before?: ReadonlySet<string>): Set<string> {
  return new Set([...(before ?? []), ...routes.map(({ method }) => method)]);
}

/** The value of `Allow`. HEAD is allowed with GET, and OPTIONS only on the public port. */
export function allowOf(methods: ReadonlySet<string>, isForOps: boolean): string {
  const others = [...methods].filter((method) => method !== 'GET').sort();
  return [
    ...(methods.has('GET') ? ['GET', 'HEAD'] : []),
    ...others,
    ...(isForOps ? [] : ['OPTIONS']),
  ].join(', ');
}
