const WORD_DIGITS = 64;

/** An element of a list that is `bytes`, or that has a dynamic `bytes` in it. */
export interface ListElement {
  /** Where it begins: hex digits from the start of the data. */
  readonly at: number;
  /** Its bytes: hex digits without prefix. */
  readonly bytes: string;
}

/**
 * The elements of a list in ABI-encoded data. ABI decoders follow offsets, so elements may overlap, and short data may
 * unfold to gigabytes: here all elements together are no longer than the data, as in any honest encoding. The decoder of
 * viem reads an honest list at many times the cost.
 *
 * @param data - hex digits without prefix, and without the selector of a call.
 * @param argument - the word that has the offset of the list.
 * @param bytesWord - the word of an element that has the offset of its bytes; absent where the element is the bytes.
 * @returns `undefined` for data that has no such list.
 */
export function elementsOf(
  data: string,
  argument: number,
  bytesWord?: number,
): readonly ListElement[] | undefined {
  const list = digitsAt(data, argument * WORD_DIGITS);
  const count = numberAt(data, list);
  if (Number.isNaN(count)) return undefined;
  const start = list + WORD_DIGITS;
  const elements: ListElement[] = [];
  let room = data.length;
  for (let index = 0; index < count; index += 1) {
    const at = start + digitsAt(data, start + index * WORD_DIGITS);
    const own = bytesWord === undefined ? at : at + digitsAt(data, at + bytesWord * WORD_DIGITS);
    const length = digitsAt(data, own);
    const bytes = data.slice(own + WORD_DIGITS, own + WORD_DIGITS + length);
    room -= 2 * WORD_DIGITS + length;
    // An offset or a length that is not a number fails here too.
    if (!(room >= 0) || bytes.length !== length) return undefined;
    elements.push({ at, bytes });
  }
  return elements;
}

/** The number in the word at this place; `NaN` where the data has no word there. */
export function numberAt(data: string, at: number): number {
  const word = data.slice(at, at + WORD_DIGITS);
  return word.length === WORD_DIGITS ? Number(`0x${word}`) : NaN;
}

/** The same for a number of bytes, as digits. */
function digitsAt(data: string, at: number): number {
  return 2 * numberAt(data, at);
}
