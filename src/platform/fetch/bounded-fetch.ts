/** Many times what most answers of a service are. */
const ANSWER_MAX_BYTES = 1_048_576;

/** An answer that was given up because it has more bytes than were wanted. */
export class AnswerTooLargeError extends Error {
  constructor() {
    super('the answer is too large');
    this.name = 'AnswerTooLargeError';
  }
}

/**
 * `fetch` that gives up: of its own it reads a body without end, also what few compressed bytes become.
 * Redirects are not followed, for they would carry credentials along.
 *
 * @param timeoutMs - from the start of the request to the last byte of its answer.
 * @param maxBytes - of the answer, once it is decompressed; more is an {@link AnswerTooLargeError}.
 */
export function boundedFetch(timeoutMs: number, maxBytes = ANSWER_MAX_BYTES): typeof fetch {
  return async (url, init) => {
    const signals = [AbortSignal.timeout(timeoutMs), ...(init?.signal ? [init.signal] : [])];
    const signal = AbortSignal.any(signals);
    const response = await fetch(url, { ...init, redirect: 'error', signal });
    const body = await readBody(response, maxBytes);
    const { status, statusText, headers } = response;
    return new Response(body.length === 0 ? null : body, { status, statusText, headers });
  };
}

async function readBody(response: Response, maxBytes: number): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  // The type of a body's chunks is not known to the compiler.
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    size += chunk.length;
    if (size > maxBytes) throw new AnswerTooLargeError();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
