import { open } from 'node:fs/promises';
import type { KeyRing } from '../seal/key-ring.js';
import {
  BrokenChainError,
  CHAIN_START,
  type ChainHead,
  keyOfFile,
  LineChain,
} from './line-chain.js';

/** Limit of a line; an offer is stored in at most 16 KiB. */
const LINE_MAX_BYTES = 1024 * 1024;
const CHUNK_BYTES = 256 * 1024;
const LINE_FEED = 0x0a;

/**
 * Reads the lines of a chained file from the reader's last position. Only a line feed ends a line, because JSON may
 * hold any other separator. Bytes after the last line feed belong to an interrupted write that was never confirmed;
 * they are ignored.
 *
 * @param options - `from`: the start position; `onLine` gets the JSON of each line.
 * @returns the reader's new position.
 * @throws BrokenChainError, and errors of the file system.
 */
export async function readChainedFile(
  path: string,
  name: string,
  keys: KeyRing,
  {
    from = CHAIN_START,
    onLine,
  }: { readonly from?: ChainHead | undefined; readonly onLine: (json: string) => void },
): Promise<ChainHead> {
  const chain = new LineChain(keyOfFile(name, keys), name, from);
  const file = await open(path, 'r');
  try {
    const { size } = await file.stat();
    if (size < from.bytes) throw new BrokenChainError('a journal file became shorter');
    let rest = Buffer.alloc(0);
    let position = from.bytes;
    for (;;) {
      const chunk = Buffer.alloc(CHUNK_BYTES);
      const { bytesRead } = await file.read(chunk, 0, CHUNK_BYTES, position);
      if (bytesRead === 0) break;
      position += bytesRead;
      rest = Buffer.concat([rest, chunk.subarray(0, bytesRead)]);
      let begin = 0;
      for (let end = rest.indexOf(LINE_FEED); end >= 0; end = rest.indexOf(LINE_FEED, begin)) {
        onLine(chain.read(rest.subarray(begin, end)));
        begin = end + 1;
      }
      rest = rest.subarray(begin);
      if (rest.length > LINE_MAX_BYTES)
        throw new BrokenChainError('a line of a journal file is too long');
    }
  } finally {
    await file.close();
  }
  return chain.head;
}
