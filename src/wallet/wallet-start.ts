import type { Redis } from 'ioredis';
import {
  type HealthIndicators,
  INDICATOR_TIMEOUT_MS,
} from '../platform/observability/health-indicators.js';
import type { WalletDirectory } from './accounts/wallet-directory.js';
import type { Journal } from './audit/journal.js';
import type { Reconciler } from './budget/reconciler.js';
import type { LinkEnding } from './hub/link-ending.js';
import type { WalletFetch } from './pay/wallet-fetch.js';
import type { WalletProvider } from './provider/wallet-provider.js';
import type { WalletHealth } from './wallet-health.js';

export interface StartedParts {
  readonly provider: WalletProvider;
  readonly journal: Journal;
  readonly reconciler: Reconciler;
  readonly ending: { readonly links: LinkEnding | undefined };
  readonly fetcher: WalletFetch;
  readonly directory: WalletDirectory;
  readonly health: WalletHealth;
  readonly indicators: HealthIndicators;
  readonly redis: Redis;
}

/** What of the wallet has a start and an end, in the order of both. */
export class WalletStart {
  private constructor(private readonly parts: StartedParts) {}

  /** @throws Error, which ends the process, where the provider or the journal cannot be used. */
  static async of(parts: StartedParts): Promise<WalletStart> {
    const { provider, journal, reconciler, ending, directory, health, indicators, redis } = parts;
    await provider.start();
    await journal.open();
    journal.start();
    reconciler.start();
    ending.links?.start();
    indicators.add({
      name: 'wallet_journal',
      timeoutMs: INDICATOR_TIMEOUT_MS,
      // Without it every answer of the wallet is a refusal: others may have a journal that works.
      gatesReadiness: true,
      report: () => health.journalReport(),
    });
    indicators.add({
      name: 'wallet_provider',
      timeoutMs: INDICATOR_TIMEOUT_MS,
      report: () => Promise.resolve(health.providerReport()),
    });
    redis.on('ready', () => {
      directory.noteReconnect();
    });
    return new WalletStart(parts);
  }

  /** Ends with the application: Nest calls it. */
  async onModuleDestroy(): Promise<void> {
    const { provider, reconciler, ending, fetcher, journal } = this.parts;
    provider.stop();
    reconciler.stop();
    ending.links?.stop();
    await fetcher.close();
    await journal.close();
  }
}
