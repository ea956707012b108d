import type { IncomingMessage } from 'node:http';

interface RoutedRequest extends IncomingMessage {
  route?: { readonly path?: unknown };
}

/** The matched pattern, such as `/v2/settlements/:id`. Express stores it on the request. */
export function routeOf(request: IncomingMessage): string | undefined {
  const { route } = request as RoutedRequest;
  return typeof route?.path === 'string' ? route.path : undefined;
}

/** Stores the pattern for requests that Express does not handle. */
export function setRoute(request: IncomingMessage, path: string): void {
  (request as RoutedRequest).route = { path };
}
