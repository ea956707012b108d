import type { PinoLogger } from 'nestjs-pino';
import type { AppConfig } from '../../platform/config/app-config.js';
import { FsStorage } from './fs/fs-storage.provider.js';
import { MemoryStorage } from './memory/memory-storage.provider.js';
import type { StorageProvider } from './storage-provider.js';

/** The storage the settings ask for, not started yet. */
export async function createStorage(
  { hub }: AppConfig,
  logger: PinoLogger,
): Promise<StorageProvider> {
  const { storage, address: hubAddress } = hub;
  const now = (): number => Date.now();
  switch (storage.kind) {
    case 'fs':
      return new FsStorage({ dir: storage.dir, hubAddress, now, logger });
    case 'memory':
      return new MemoryStorage(hubAddress, now);
    case 's3': {
      // Only those who use it pay for loading the SDK.
      const { S3Storage } = await import('./s3/s3-storage.provider.js');
      return new S3Storage({ s3: storage, hubAddress, now });
    }
  }
}
