import { Inject, Injectable, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { WALLET_REDIS } from '../platform/redis/redis.module.js';
import { WalletDirectory } from './accounts/wallet-directory.js';
import { Journal } from './audit/journal.js';
import { Reconciler } from './budget/reconciler.js';
import type { WalletHub } from './hub/wallet-hub.js';
import { WalletFetch } from './pay/wallet-fetch.js';
import type { WalletProvider } from './provider/wallet-provider.js';
import { WALLET_HUB, WALLET_PROVIDER } from './wallet-tokens.js';

/** The parts of the wallet that start and stop, in the order of both. */
@Injectable()
export class WalletStart implements OnModuleInit, OnModuleDestroy {
  constructor(
    @Inject(WALLET_PROVIDER) private readonly provider: WalletProvider,
    private readonly journal: Journal,
    private readonly reconciler: Reconciler,
    @Inject(WALLET_HUB) private readonly hub: WalletHub | undefined,
    private readonly fetcher: WalletFetch,
    private readonly directory: WalletDirectory,
    @Inject(WALLET_REDIS) private readonly redis: Redis,
  ) {}

  /** @throws Error, which ends the process, if the provider or the journal cannot be used. */
  async onModuleInit(): Promise<void> {
    await this.provider.start();
    await this.journal.open();
    this.journal.start();
    this.reconciler.start();
    this.hub?.links.start();
    this.redis.on('ready', () => {
      this.directory.noteReconnect();
    });
  }

  async onModuleDestroy(): Promise<void> {
    this.provider.stop();
    this.reconciler.stop();
    this.hub?.links.stop();
    await this.fetcher.close();
    await this.journal.close();
  }
}
