import { type FileHandle, open } from 'node:fs/promises';
import { createRequire } from 'node:module';

/** The function used of `fs-native-extensions`: an advisory lock of the open file, as `fcntl` gives it. */
interface NativeLock {
  tryLock(fd: number): boolean;
}

/**
 * One writer for a folder, whatever happens: the operating system holds the lock and gives it up the
 * moment its holder is gone, however it went. A holder that is stopped, or slow, keeps it: there is no
 * lease that could run out under a write.
 */
export class WriterLock {
  #file: FileHandle | undefined;

  constructor(private readonly path: string) {}

  /** Asks once. @throws Error when this system has no such lock. */
  async tryTake(): Promise<boolean> {
    const file = await open(this.path, 'a+');
    if (nativeLock().tryLock(file.fd)) {
      this.#file = file;
      return true;
    }
    await file.close();
    return false;
  }

  async release(): Promise<void> {
    await this.#file?.close();
    this.#file = undefined;
  }
}

function nativeLock(): NativeLock {
  return createRequire(import.meta.url)('fs-native-extensions') as NativeLock;
}
