import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Middleware } from './middleware.js';
import { setRoute } from './route.js';

/** A POST route with its own error format. */
export interface DirectPost {
  readonly answer: (request: IncomingMessage, response: ServerResponse) => Promise<void>;
  readonly onError: (error: unknown, response: ServerResponse) => void;
}

interface DirectRoutes {
  /** By path, for POST only. Other methods of these paths take the way of the framework. */
  readonly posts: ReadonlyMap<string, DirectPost>;
  /** Middleware of every request, in order. */
  readonly middleware: readonly Middleware[];
}

/**
 * Answers the hot routes on Node's own server, before the framework, whose routing takes longer than the whole
 * request (docs/decisions/0061). A path with a query or capitals takes the way of the framework, to the same
 * functions.
 */
export function answerDirectly(server: Server, { posts, middleware }: DirectRoutes): void {
  const framework = server.listeners('request') as ((...args: unknown[]) => void)[];
  server.removeAllListeners('request');
  server.on('request', (request, response) => {
    const { method, url = '' } = request;
    const post = method === 'POST' ? posts.get(url) : undefined;
    if (post === undefined) {
      for (const listener of framework) listener.call(server, request, response);
      return;
    }
    setRoute(request, url);
    walk(middleware, request, response, () => {
      post.answer(request, response).catch((error: unknown) => {
        post.onError(error, response);
      });
    });
  });
}

function walk(
  [step, ...others]: readonly Middleware[],
  request: IncomingMessage,
  response: ServerResponse,
  end: () => void,
): void {
  if (step === undefined) end();
  else
    step(request, response, () => {
      walk(others, request, response, end);
    });
}
