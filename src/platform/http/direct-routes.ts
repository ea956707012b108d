import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Middleware } from './middleware.js';
import { setRoute } from './route.js';

/** A route that answers to POST, and says in its own shape what went wrong. */
export interface DirectPost {
  readonly answer: (request: IncomingMessage, response: ServerResponse) => Promise<void>;
  readonly onError: (error: unknown, response: ServerResponse) => void;
}

interface DirectRoutes {
  /** By path; all of them answer to POST and nothing else. */
  readonly posts: ReadonlyMap<string, DirectPost>;
  /** What every request goes through on its way, in order. */
  readonly middleware: readonly Middleware[];
}

/**
 * Answers the requests that come by the thousand on Node's own server, before the framework: its
 * routing takes longer than all they need (docs/decisions/0061). A path that is written otherwise, with a
 * query or in capitals, takes the framework's way, which leads to the same functions.
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
