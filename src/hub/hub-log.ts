import type { PinoLogger } from 'nestjs-pino';
import type { IndexLog } from './index/hub-index.js';
import type { FsStorageLog } from './storage/fs/fs-storage.provider.js';
import type { OpeningLog } from './storage/storage-opening.js';

export function storageLog(logger: PinoLogger): FsStorageLog {
  return {
    writing: (tornBytes) => {
      if (tornBytes > 0)
        logger.warn(
          { tornBytes },
          'the hub journal ended in an incomplete line, which was cut off',
        );
      logger.info('this process holds the hub storage for writing');
    },
    waiting: () => {
      logger.info('another process holds the hub storage for writing; uploads wait for it');
    },
    failed: (error) => {
      logger.error({ err: error }, 'the hub storage cannot be opened for writing yet');
    },
  };
}

export function openingLog(logger: PinoLogger): OpeningLog {
  return {
    closed: (error) => {
      logger.error(
        { err: error },
        'the hub storage is not open yet; the hub answers 503 until it is',
      );
    },
    open: () => {
      logger.info('the hub storage is open');
    },
  };
}

export function indexLog(logger: PinoLogger): IndexLog {
  return {
    missing: (why) => {
      logger.warn({ why }, 'the hub index is unusable and is being rebuilt');
    },
    repaired: ({ how, entries }) => {
      logger.info({ how, entries }, 'the hub index is up to date');
    },
    failed: (error) => {
      logger.error({ err: error }, 'the hub index could not be rebuilt yet; it will be retried');
    },
  };
}
