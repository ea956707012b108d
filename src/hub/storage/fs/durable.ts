import { mkdir, open } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';

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
