import { type IncomingHttpHeaders, request as httpRequest } from 'node:http';

/** An answer with all that was on the wire. */
export interface Wire {
  readonly status: number | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface Question {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}

/** What differs from one answer to the next. */
const PASSING = ['date', 'ratelimit-remaining', 'ratelimit-reset'];

/**
 * Sends a request as it is, and reads the answer as it is: `fetch` writes headers of its own and drops some.
 *
 * @param base - as `http://127.0.0.1:3000`.
 */
export function askWire(
  base: string,
  { method = 'POST', path, headers, body }: Question,
): Promise<Wire> {
  return new Promise((resolve, reject) => {
    const sent = httpRequest(
      `${base}${path}`,
      { method, headers: { 'x-request-id': 'the-same', ...headers } },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () => {
          const all = Object.entries(response.headers);
          resolve({
            status: response.statusCode,
            headers: Object.fromEntries(all.filter(([name]) => !PASSING.includes(name))),
            body: Buffer.concat(chunks).toString(),
          });
        });
      },
    );
    sent.on('error', reject);
    sent.end(body);
  });
}
