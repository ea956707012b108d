import type { FactoryProvider } from '@nestjs/common';
import type { Redis } from 'ioredis';
import type { WalletConfig } from '../../platform/config/wallet-settings.js';
import { WALLET_REDIS } from '../../platform/redis/redis.module.js';
import { WalletDirectory } from '../accounts/wallet-directory.js';
import { FileSaver } from '../pay/file-saver.js';
import { Authorizer } from '../signing/authorizer.js';
import { WalletSigner } from '../signing/signer.js';
import { UpkeepLog } from '../upkeep-log.js';
import { WALLET_CLOCK, WALLET_HUB, WALLET_SETTINGS, type WalletClock } from '../wallet-tokens.js';
import { HubClient } from './hub-client.js';
import { HubSigner } from './hub-signer.js';
import { LinkEnding } from './link-ending.js';

/** Time of one call that saves a file; a repeated call continues. */
const SAVE_TIMEOUT_MS = 120_000;

/** The operator's file hub. */
export interface WalletHub {
  readonly client: HubClient;
  readonly signer: HubSigner;
  readonly links: LinkEnding;
  readonly saver: FileSaver;
}

/** `undefined` where `WALLET_HUB_URL` is not set. */
export const WALLET_HUB_PROVIDER: FactoryProvider<WalletHub | undefined> = {
  provide: WALLET_HUB,
  inject: [
    WALLET_SETTINGS,
    Authorizer,
    WalletSigner,
    WalletDirectory,
    WALLET_REDIS,
    WALLET_CLOCK,
    UpkeepLog,
  ],
  useFactory: (
    { hub, fetchTimeoutMs }: WalletConfig,
    authorizer: Authorizer,
    walletSigner: WalletSigner,
    directory: WalletDirectory,
    redis: Redis,
    now: WalletClock,
    upkeep: UpkeepLog,
  ) => {
    if (hub === undefined) return undefined;
    const signer = new HubSigner(authorizer, walletSigner, hub.address, now);
    const client = new HubClient(signer, hub.url, fetchTimeoutMs);
    return {
      signer,
      client,
      links: new LinkEnding(redis, client, directory, now, upkeep.failed),
      saver: new FileSaver(client, signer, hub.saveMaxBytes, SAVE_TIMEOUT_MS),
    };
  },
};
