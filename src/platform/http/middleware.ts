import type { IncomingMessage, ServerResponse } from 'node:http';

/** What is done with every request on its way, on Express as on Node's own server. */
export type Middleware = (
  request: IncomingMessage,
  response: ServerResponse,
  next: () => void,
) => void;
