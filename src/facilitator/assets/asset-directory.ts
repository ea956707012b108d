import { Inject, Injectable, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import { PinoLogger } from 'nestjs-pino';
import { ChainRegistry } from '../../platform/chain/chain-registry.js';
import type { ChainView } from '../../platform/chain/chain-view.js';
import { Clock } from '../../platform/concurrency/clock.js';
import { ChainUnavailableError } from '../../protocol/errors.js';
import { readTokenFacts } from '../../protocol/evm/token/token-facts.js';
import { newTrialSigner } from '../../protocol/evm/token/token-trials.js';
import { type AssetReading, assetView } from './asset-view.js';
import type { AssetView } from './dto/asset.response.js';
import { type KnownAsset, KnownAssets } from './known-assets.js';

/** Interval of the look for tokens that have to be read. */
const ROUND_MS = 60_000;
/** An upgradable token may get other code, so its facts are read again after this time. */
const READING_KEPT_MS = 24 * 3_600_000;

/** A chain that can be asked through its best endpoint. */
export interface AskedChain {
  withView<T>(use: (view: ChainView) => Promise<T>): Promise<T>;
}

interface AskedChains {
  /** `undefined` where the deployment does not serve the chain now. */
  served(chainId: number): AskedChain | undefined;
}

/**
 * The tokens this deployment knows, with their facts on chain. A background task reads one token at a time on each
 * chain. No request waits for it; until then the built-in facts are shown.
 */
@Injectable()
export class AssetDirectory implements OnModuleInit, OnModuleDestroy {
  readonly #readings = new Map<KnownAsset, AssetReading>();
  #timer: NodeJS.Timeout | undefined;
  #round: Promise<void> | undefined;
  #isStopped = false;

  constructor(
    @Inject(KnownAssets) private readonly known: Pick<KnownAssets, 'all'>,
    @Inject(ChainRegistry) private readonly chains: AskedChains,
    @Inject(Clock) private readonly clock: Pick<Clock, 'now'>,
    @Inject(PinoLogger) private readonly logger: Pick<PinoLogger, 'warn'>,
  ) {}

  onModuleInit(): void {
    void this.round();
    this.#timer = setInterval(() => void this.round(), ROUND_MS);
    this.#timer.unref();
  }

  onModuleDestroy(): void {
    this.#isStopped = true;
    clearInterval(this.#timer);
  }

  /** @param chainId - lists the tokens of this chain only. */
  list(chainId?: number): readonly AssetView[] {
    return this.known.all
      .filter((asset) => chainId === undefined || asset.chainId === chainId)
      .map((asset) => assetView(asset, this.#readings.get(asset)));
  }

  /** Reads each token that was never read, or was read long ago. Never throws. Rounds do not overlap. */
  round(): Promise<void> {
    this.#round ??= this.#readAll().finally(() => {
      this.#round = undefined;
    });
    return this.#round;
  }

  async #readAll(): Promise<void> {
    const chainIds = [...new Set(this.known.all.map(({ chainId }) => chainId))];
    await Promise.all(chainIds.map((chainId) => this.#readChain(chainId)));
  }

  async #readChain(chainId: number): Promise<void> {
    for (const known of this.known.all) {
      if (known.chainId !== chainId || !this.#isDue(known)) continue;
      const chain = this.chains.served(chainId);
      if (chain === undefined || this.#isStopped) return;
      try {
        const facts = await chain.withView((view) => read(view, known));
        this.#readings.set(known, { at: new Date(this.clock.now()), facts });
      } catch (error) {
        // The chain does not answer, so it would not answer for its other tokens either.
        if (error instanceof ChainUnavailableError) return;
        this.logger.warn(
          { err: error, chainId, asset: known.asset },
          'could not read a token contract (name, symbol, decimals)',
        );
      }
    }
  }

  #isDue(known: KnownAsset): boolean {
    const at = this.#readings.get(known)?.at.getTime();
    return at === undefined || this.clock.now() - at > READING_KEPT_MS;
  }
}

async function read(
  view: ChainView,
  { asset, builtIn }: KnownAsset,
): Promise<AssetReading['facts']> {
  if (!(await view.isContract(asset))) return undefined;
  const hints = builtIn?.eip712 === undefined ? [] : [builtIn.eip712];
  return readTokenFacts(view, asset, newTrialSigner(), hints);
}
