import { Inject, Injectable } from '@nestjs/common';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { formatUnits, zeroAddress } from 'viem';
import { AppConfig } from '../../platform/config/app-config.js';
import type { WalletConfig } from '../../platform/config/wallet-settings.js';
import { assetNameOf } from '../../protocol/payment/accepted-payment.js';
import { caip2Of } from '../../protocol/payment/network.js';
import { WalletHealth } from '../../wallet/wallet-health.js';
import type { WalletObserver } from '../../wallet/wallet-observer.js';
import { Sampled, type Sampler } from './sampler.js';

/** Seconds. A custody provider answers in tenths; the longest allowed time-out is a minute. */
const BUCKETS = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
const NATIVE_DECIMALS = 18;

interface WalletAssets {
  readonly wallet?: Pick<WalletConfig, 'assets'> | undefined;
}

/** Counts the work of wallets. The values of every label come from a fixed list or from the settings. */
@Injectable()
export class WalletMetrics implements WalletObserver {
  readonly #decisions: Counter<'what' | 'outcome' | 'rule'>;
  readonly #purchases: Counter<'outcome'>;
  readonly #tokens: Counter<'step' | 'network' | 'asset'>;
  readonly #seconds: Histogram<'operation' | 'outcome'>;
  /** By the name of the asset. */
  readonly #decimals: ReadonlyMap<string, number>;

  constructor(registry: Registry, @Inject(AppConfig) { wallet }: WalletAssets) {
    const registers = [registry];
    this.#decisions = new Counter({
      name: 'x402_wallet_decisions_total',
      help: 'Signing requests, by outcome; rule: the rule that refused.',
      labelNames: ['what', 'outcome', 'rule'],
      registers,
    });
    this.#purchases = new Counter({
      name: 'x402_wallet_purchases_total',
      help: 'Purchases answered, by status; or refused, by code.',
      labelNames: ['outcome'],
      registers,
    });
    this.#tokens = new Counter({
      name: 'x402_wallet_budget_tokens_total',
      help: 'Whole tokens by step: reserved in a budget, then as seen on the chain.',
      labelNames: ['step', 'network', 'asset'],
      registers,
    });
    this.#seconds = new Histogram({
      name: 'x402_wallet_provider_request_duration_seconds',
      help: 'Duration of one request to the custody provider, body included.',
      labelNames: ['operation', 'outcome'],
      buckets: BUCKETS,
      registers,
    });
    this.#decimals = new Map(
      wallet?.assets.map(({ chainId, address, decimals: places }) => [
        assetNameOf({ chainId, asset: address }),
        places,
      ]),
    );
  }

  decided({ what, rule }: Parameters<WalletObserver['decided']>[0]): void {
    const outcome = rule === undefined ? 'allowed' : 'refused';
    this.#decisions.inc({ what, outcome, rule: rule ?? '' });
  }

  bought({ outcome }: Parameters<WalletObserver['bought']>[0]): void {
    this.#purchases.inc({ outcome });
  }

  counted({ step, spending }: Parameters<WalletObserver['counted']>[0]): void {
    const { chainId, asset, amount } = spending;
    const known = this.#decimals.get(assetNameOf({ chainId, asset }));
    const places = asset === zeroAddress ? NATIVE_DECIMALS : known;
    // A token with unknown decimals has no number of whole tokens.
    if (places === undefined) return;
    const network = caip2Of(chainId);
    this.#tokens.inc({ step, network, asset }, Number(formatUnits(amount, places)));
  }

  providerCalled(event: Parameters<WalletObserver['providerCalled']>[0]): void {
    const { operation, outcome, durationMs } = event;
    this.#seconds.observe({ operation, outcome }, durationMs / 1000);
  }
}

/** Gauges of the wallet's present state. */
@Injectable()
@Sampled()
export class WalletGauges implements Sampler {
  readonly #journal: Gauge;
  readonly #provider: Gauge;

  constructor(
    registry: Registry,
    @Inject(WalletHealth)
    private readonly health: Pick<WalletHealth, 'journalIsWritable' | 'providerCondition'>,
  ) {
    this.#journal = new Gauge({
      name: 'x402_wallet_journal_up',
      help: 'Whether the wallet journal is writable: 1 or 0. At 0 nothing is signed.',
      registers: [registry],
    });
    this.#provider = new Gauge({
      name: 'x402_wallet_provider_up',
      help: 'Whether the newest request to the custody provider succeeded: 1 or 0.',
      registers: [registry],
    });
  }

  async refresh(): Promise<void> {
    this.#journal.set((await this.health.journalIsWritable()) ? 1 : 0);
    this.#provider.set(this.health.providerCondition === undefined ? 1 : 0);
  }
}
