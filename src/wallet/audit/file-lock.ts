import { createRequire } from 'node:module';

/**
 * The part of `fs-native-extensions` that is used: a lock of the open file, which ends with its
 * process.
 */
interface NativeLock {
  tryLock(fd: number): boolean;
}

let native: NativeLock | undefined | 'none';

/**
 * Locks an open file for as long as it stays open.
 *
 * @returns `undefined` on a system without such locks.
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
