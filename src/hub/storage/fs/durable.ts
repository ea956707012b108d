import { constants } from 'node:fs';
import { type FileHandle, mkdir, open } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';

/**
 * Opens a file, made when it is not there, whose writes are on disk when they resolve (O_DSYNC: data, and
 * what is needed to find it). One call of the system in place of a write and a sync.
 *
 * @throws Error where the system cannot do that.
 */
export async function openDurable(path: string): Promise<FileHandle> {
  const { O_RDWR, O_CREAT, O_DSYNC } = constants;
  if (typeof O_DSYNC !== 'number')
    throw new Error(
      'the operating system has no O_DSYNC, which the hub needs to store files safely',
    );
  return open(path, O_RDWR | O_CREAT | O_DSYNC);
}

/** A name in a folder is on disk only when the folder itself is. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/** Makes a folder, and those it lies in, on disk before this resolves. */
export async function makeFolder(path: string): Promise<void> {
  const whole = resolve(path);
  const first = await mkdir(whole, { recursive: true });
  if (first === undefined) return;
  for (let made = whole; made.length >= first.length; made = dirname(made)) {
    await syncFolder(dirname(made));
  }
}
