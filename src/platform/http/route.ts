import type { IncomingMessage } from 'node:http';

interface RoutedRequest extends IncomingMessage {
  route?: { readonly path?: unknown };
}

/** The pattern that matched, as `/v2/settlements/:id`. Express notes it on the request. */
export function routeOf(request: IncomingMessage): string | undefined {
  const { route } = request as RoutedRequest;
  return typeof route?.path === 'string' ? route.path : undefined;
}

/** Notes the pattern where Express has no part in it. */
export function setRoute(request: IncomingMessage, path: string): void {
  (request as RoutedRequest).route = { path };
}
