import type { IncomingMessage, ServerResponse } from 'node:http';

/** A step that every request passes, on Express as on Node's own server. */
export type Middleware = (
  request: IncomingMessage,
  response: ServerResponse,
  next: () => void,
) => void;
