import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Params } from 'nestjs-pino';
import type { AppConfig } from '../config/app-config.js';

const REQUEST_ID = /^[\w.-]{1,64}$/;

/**
 * One structured line for each request. Query strings and bodies hold live authorizations and are never
 * logged; of the headers only what identifies a request is.
 */
export function requestLog({ logLevel }: AppConfig): Params {
  return {
    pinoHttp: {
      level: logLevel,
      genReqId: (request: IncomingMessage, response: ServerResponse): string => {
        const given = request.headers['x-request-id'];
        const id = typeof given === 'string' && REQUEST_ID.test(given) ? given : randomUUID();
        response.setHeader('X-Request-Id', id);
        return id;
      },
      serializers: {
        req: (request: { id: string; method: string; url: string }) => ({
          id: request.id,
          method: request.method,
          path: pathOf(request.url),
        }),
        res: (response: { statusCode: number }) => ({ status: response.statusCode }),
      },
      customLogLevel: (_request, response, error) =>
        error !== undefined || response.statusCode >= 500 ? 'error' : 'debug',
    },
  };
}

function pathOf(url: string): string {
  const end = url.indexOf('?');
  return end === -1 ? url : url.slice(0, end);
}
