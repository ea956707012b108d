/** A payload that fits in memory, or the whole stream of one that does not. */
type ShortOrLong =
  | { readonly isShort: true; readonly bytes: Uint8Array }
  | { readonly isShort: false; readonly pieces: AsyncIterable<Uint8Array> };

/** @param maxBytes - that are gathered before a payload counts as long. */
export async function bufferOrStream(
  payload: Uint8Array | AsyncIterable<Uint8Array>,
  maxBytes: number,
): Promise<ShortOrLong> {
  if (payload instanceof Uint8Array) return { isShort: true, bytes: payload };
  const pieces = payload[Symbol.asyncIterator]();
  const head: Uint8Array[] = [];
  let size = 0;
  while (size <= maxBytes) {
    const next = await pieces.next();
    if (next.done === true) return { isShort: true, bytes: Buffer.concat(head) };
    head.push(next.value);
    size += next.value.length;
  }
  return { isShort: false, pieces: resumed(head, pieces) };
}

async function* resumed(
  head: Uint8Array[],
  rest: AsyncIterator<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  try {
    // Let go of one by one.
    for (let piece = head.shift(); piece !== undefined; piece = head.shift()) yield piece;
    for (let next = await rest.next(); next.done !== true; next = await rest.next()) {
      yield next.value;
    }
  } finally {
    await rest.return?.();
  }
}
