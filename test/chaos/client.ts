import { request } from 'node:http';
import type { Json } from '../support/payments.js';

/** Everything in 127.0.0.0/8 is this machine, so that each caller can have an address of its own. */
let lastAddress = 0;
export function newCallerAddress(): string {
  lastAddress = (lastAddress + 1) % 60_000;
  return `127.7.${Math.floor(lastAddress / 250)}.${1 + (lastAddress % 250)}`;
}

interface Asked {
  readonly method?: 'GET' | 'POST';
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** The caller's own address. */
  readonly from?: string;
  /** Then the caller hangs up. */
  readonly timeoutMs: number;
}

export interface Answered {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly json: Json;
}

/** One request on a connection of its own. `undefined` without a complete answer. */
export function ask(
  url: string,
  { method = 'GET', body, headers = {}, from, timeoutMs }: Asked,
): Promise<Answered | undefined> {
  return new Promise((resolve) => {
    const text = body === undefined ? undefined : JSON.stringify(body);
    const sent = request(
      url,
      {
        method,
        agent: false,
        ...(from !== undefined && { localAddress: from }),
        headers: {
          ...(text !== undefined && {
            'content-type': 'application/json',
            'content-length': String(Buffer.byteLength(text)),
          }),
          ...headers,
        },
      },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', lost);
        response.on('end', () => {
          clearTimeout(timer);
          try {
            const json = JSON.parse(Buffer.concat(chunks).toString()) as Json;
            resolve({ status: response.statusCode ?? 0, headers: response.headers, json });
          } catch {
            resolve(undefined);
          }
        });
      },
    );
    const timer = setTimeout(lost, timeoutMs);
    function lost(): void {
      clearTimeout(timer);
      sent.destroy();
      resolve(undefined);
    }
    sent.on('error', lost);
    sent.end(text);
  });
}

export function delay(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** The promise's value, or `undefined` after this time. */
export function within<T>(ms: number, promise: Promise<T>): Promise<T | undefined> {
  return Promise.race([promise, delay(ms).then(() => undefined)]);
}
