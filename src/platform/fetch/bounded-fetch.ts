/** Answers of Privy are a few kilobytes. */
const ANSWER_MAX_BYTES = 1_048_576;

/**
 * `fetch` that gives up: the SDK's own time limit ends with the headers, and it would read a body
 * without end. Redirects are not followed, for they would carry the credentials along.
 *
 * @param timeoutMs - from the start of the request to the last byte of its answer.
 */
export function boundedFetch(timeoutMs: number): typeof fetch {
  return async (url, init) => {
    const signals = [AbortSignal.timeout(timeoutMs), ...(init?.signal ? [init.signal] : [])];
    const signal = AbortSignal.any(signals);
    const response = await fetch(url, { ...init, redirect: 'error', signal });
    const body = await readBody(response);
    const { status, statusText, headers } = response;
    return new Response(body.length === 0 ? null : body, { status, statusText, headers });
  };
}

async function readBody(response: Response): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  // The type of a body's chunks is not known to the compiler.
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    size += chunk.length;
    if (size > ANSWER_MAX_BYTES) throw new Error('the answer of the custody provider is too large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
