import { crc32 } from 'node:zlib';
import { DamagedObjectError } from '../errors.js';
import { CRC_DIGITS, crcText } from './payload-digest.js';
import { BLOCK_BYTES, type StorageProvider, type StoredObject } from './storage-provider.js';

/**
 * A part of a payload, in pieces of at most {@link BLOCK_BYTES}. Each piece is compared with its
 * checksum before it is returned, so that no wrong byte ever leaves.
 *
 * @param from - offset of the first byte wanted.
 * @param length - bytes wanted, within the payload.
 * @throws DamagedObjectError, StorageUnavailableError
 */
export async function* verifiedRead(
  storage: Pick<StorageProvider, 'read'>,
  object: StoredObject,
  from: number,
  length: number,
): AsyncGenerator<Uint8Array> {
  const end = from + length;
  const first = Math.floor(from / BLOCK_BYTES);
  const last = Math.floor((end - 1) / BLOCK_BYTES);
  const begin = first * BLOCK_BYTES;
  const stop = Math.min(object.size, (last + 1) * BLOCK_BYTES);
  let number = first;
  for await (const block of blocksOf(storage.read(object, begin, stop - begin))) {
    const wanted = object.blocks.slice(number * CRC_DIGITS, (number + 1) * CRC_DIGITS);
    if (crcText(crc32(block)) !== wanted) {
      throw new DamagedObjectError(object.volume, object.start, number);
    }
    const offset = number * BLOCK_BYTES;
    yield block.subarray(Math.max(0, from - offset), Math.min(block.length, end - offset));
    number += 1;
  }
  if (number <= last) throw new DamagedObjectError(object.volume, object.start, number);
}

/** The same bytes in blocks; the last one may be shorter. */
async function* blocksOf(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let parts: Uint8Array[] = [];
  let gathered = 0;
  for await (const piece of pieces) {
    let rest = piece;
    while (gathered + rest.length >= BLOCK_BYTES) {
      const room = BLOCK_BYTES - gathered;
      yield joined([...parts, rest.subarray(0, room)]);
      rest = rest.subarray(room);
      parts = [];
      gathered = 0;
    }
    if (rest.length > 0) parts.push(rest);
    gathered += rest.length;
  }
  if (gathered > 0) yield joined(parts);
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const [only] = parts;
  return parts.length === 1 && only !== undefined ? only : Buffer.concat(parts);
}
