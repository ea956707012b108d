import { describe, expect, it } from '@jest/globals';
import { StorageUnavailableError } from '../errors.js';
import { type FilePart, readMultipartFiles } from './multipart.js';

const BOUNDARY = 'b';
const HEADERS = { 'content-type': `multipart/form-data; boundary=${BOUNDARY}` };

async function* formOf(...names: readonly string[]): AsyncGenerator<Uint8Array> {
  const parts = names.map(
    (name) =>
      `--${BOUNDARY}\r\nContent-Disposition: form-data; name="files"; filename="${name}"\r\n\r\nof ${name}\r\n`,
  );
  yield await Promise.resolve(Buffer.from(`${parts.join('')}--${BOUNDARY}--\r\n`));
}

describe('a form of several files whose storage fails', () => {
  /** A storage that fails at one file, before or after nothing spoke against the form any more. */
  async function take(failsAt: 'before' | 'after', stored: string[]): Promise<unknown> {
    const store = async ({ filename, bytes, fields, agreed }: FilePart): Promise<string> => {
      for await (const piece of bytes) expect(piece.length).toBeGreaterThan(0);
      const fails = filename === 'two';
      if (fails && failsAt === 'before') throw new StorageUnavailableError('spool');
      await fields;
      await agreed();
      if (fails) throw new StorageUnavailableError('commit');
      await new Promise((resolve) => setImmediate(resolve));
      stored.push(filename);
      return filename;
    };
    return readMultipartFiles(HEADERS, formOf('one', 'two', 'three'), store);
  }

  it('while one of them arrives stores none', async () => {
    const stored: string[] = [];
    await expect(take('before', stored)).rejects.toThrow(StorageUnavailableError);
    expect(stored).toEqual([]);
  });

  it('at the end is answered as unavailable, once the others are stored', async () => {
    const stored: string[] = [];
    await expect(take('after', stored)).rejects.toThrow(StorageUnavailableError);
    expect(stored).toEqual(['one', 'three']);
  });
});
