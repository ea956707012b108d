/** Maximum bytes of an answer, far above typical answers. */
const ANSWER_MAX_BYTES = 1_048_576;

/** The answer has more bytes than allowed, and was aborted. */
export class AnswerTooLargeError extends Error {
  constructor() {
    super('the answer is too large');
    this.name = 'AnswerTooLargeError';
  }
}

/**
 * `fetch` with limits of time and size. Without them `fetch` reads a body of any size, also one that grows by
 * decompression. Redirects are not followed, because they would forward credentials.
 *
 * @param timeoutMs - from the start of the request to the last byte of the answer.
 * @param maxBytes - of the decompressed answer; a longer one is an {@link AnswerTooLargeError}.
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
  // The compiler does not know the type of the chunks.
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    size += chunk.length;
    if (size > maxBytes) throw new AnswerTooLargeError();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
