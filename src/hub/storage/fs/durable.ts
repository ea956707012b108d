import { mkdir, open } from 'node:fs/promises';
import { dirname } from 'node:path';

/** A name in a folder is on disk only when the folder itself is. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/** Makes a folder inside one that exists, on disk before this resolves. */
export async function makeFolder(path: string): Promise<void> {
  const made = await mkdir(path, { recursive: true });
  if (made !== undefined) await syncFolder(dirname(path));
}
