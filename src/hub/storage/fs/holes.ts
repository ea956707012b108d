import { open } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { Place } from '../storage-provider.js';
import { volumePath } from './volumes.js';

/** The function used of `fs-native-extensions`: `fallocate` with `FALLOC_FL_PUNCH_HOLE` and `FALLOC_FL_KEEP_SIZE`. */
interface NativeTrim {
  readonly trim: (fd: number, offset: number, length: number) => Promise<void>;
}

/** Elsewhere a hole has to begin and end where a block of the file system does, and bytes beside it would stay. */
const PLATFORM = 'linux';

/**
 * Makes places of volumes holes: they read as zeros and take no room, and nothing else moves. Resolves when that is on the disk.
 *
 * @throws Error where the file system or the platform knows no holes.
 */
export async function punchHoles(dir: string, places: readonly Place[]): Promise<void> {
  if (process.platform !== PLATFORM)
    throw new Error(`bytes inside files can be freed on ${PLATFORM} only`);
  const { trim } = createRequire(import.meta.url)('fs-native-extensions') as NativeTrim;
  const byVolume = new Map<string, Place[]>();
  for (const place of places) {
    const path = volumePath(dir, place);
    byVolume.set(path, [...(byVolume.get(path) ?? []), place]);
  }
  for (const [path, holes] of byVolume) {
    const file = await open(path, 'r+');
    try {
      for (const { start, size } of holes) if (size > 0) await trim(file.fd, start, size);
      await file.datasync();
    } finally {
      await file.close();
    }
  }
}
