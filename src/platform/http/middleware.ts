import type { IncomingMessage, ServerResponse } from 'node:http';

/** Middleware for every request, for Express and for Node's own server. */
export type Middleware = (
  request: IncomingMessage,
  response: ServerResponse,
  next: () => void,
) => void;
