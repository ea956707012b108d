import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { setRoute } from './route.js';
import type { Step } from './step.js';

export type DirectAnswer = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

export interface DirectRoutes {
  /** By path; all of them answer to POST and nothing else. */
  readonly posts: ReadonlyMap<string, DirectAnswer>;
  /** What every request goes through on its way, in order. */
  readonly steps: readonly Step[];
  readonly onError: (error: unknown, request: IncomingMessage, response: ServerResponse) => void;
}

/**
 * Answers the requests that come by the thousand on Node's own server, before the framework: its
 * routing takes longer than all they need (docs/decisions/0061). A request that is not to the letter
 * what is listed takes the framework's way, which leads to the same functions.
 */
export function answerDirectly(server: Server, { posts, steps, onError }: DirectRoutes): void {
  const framework = server.listeners('request') as ((...args: unknown[]) => void)[];
  server.removeAllListeners('request');
  server.on('request', (request, response) => {
    const { method, url = '' } = request;
    const answer = method === 'POST' ? posts.get(url) : undefined;
    if (answer === undefined) {
      for (const listener of framework) listener.call(server, request, response);
      return;
    }
    setRoute(request, url);
    walk(steps, request, response, () => {
      answer(request, response).catch((error: unknown) => {
        onError(error, request, response);
      });
    });
  });
}

function walk(
  [step, ...others]: readonly Step[],
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
