import { createRequire } from 'node:module';

/** The function used of `fs-native-extensions`: a lock of the open file, gone with whoever holds it. */
interface NativeLock {
  tryLock(fd: number): boolean;
}

let native: NativeLock | undefined | 'none';

/**
 * Tries to lock an open file for as long as it stays open.
 *
 * @returns `undefined` where this system has no such lock.
 */
export function tryLock(fd: number): boolean | undefined {
  native ??= load();
  return native === 'none' ? undefined : native.tryLock(fd);
}

function load(): NativeLock | 'none' {
  try {
    return createRequire(import.meta.url)('fs-native-extensions') as NativeLock;
  } catch {
    return 'none';
  }
}
