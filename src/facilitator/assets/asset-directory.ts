import type { ChainView } from '../../platform/chain/chain-view.js';
import type { Clock } from '../../platform/concurrency/clock.js';
import { ChainUnavailableError } from '../../protocol/errors.js';
import { readTokenFacts } from '../../protocol/evm/token/token-facts.js';
import { newTrialSigner } from '../../protocol/evm/token/token-trials.js';
import { type AssetReading, assetView } from './asset-view.js';
import type { AssetView } from './dto/asset.response.js';
import type { KnownAsset } from './known-assets.js';

/** How often it is looked whether there is something to ask for. */
const ROUND_MS = 60_000;
/** A proxy may get other code: what was read is read again. */
const READING_KEPT_MS = 24 * 3_600_000;

/** A chain that can be asked through its best endpoint. */
interface AskedChain {
  withView<T>(use: (view: ChainView) => Promise<T>): Promise<T>;
}

export interface DirectoryParts {
  readonly assets: readonly KnownAsset[];
  /** `undefined` for a chain that is not served now. */
  readonly chainOf: (chainId: number) => AskedChain | undefined;
  readonly clock: Pick<Clock, 'now'>;
  readonly onFault: (error: unknown, asset: KnownAsset) => void;
}

/**
 * The tokens this deployment knows, with what the chain says of them. They are asked for in the
 * background, one at a time on each chain: nothing waits for it, and until then there is what is built in.
 */
export class AssetDirectory {
  readonly #readings = new Map<KnownAsset, AssetReading>();
  #timer: NodeJS.Timeout | undefined;
  #round: Promise<void> | undefined;
  #isStopped = false;

  constructor(private readonly parts: DirectoryParts) {}

  start(): void {
    void this.round();
    this.#timer = setInterval(() => void this.round(), ROUND_MS);
    this.#timer.unref();
  }

  stop(): void {
    this.#isStopped = true;
    clearInterval(this.#timer);
  }

  /** @param chainId - of one chain only. */
  list(chainId?: number): readonly AssetView[] {
    return this.parts.assets
      .filter((asset) => chainId === undefined || asset.chainId === chainId)
      .map((asset) => assetView(asset, this.#readings.get(asset)));
  }

  /** Asks for what is not known, or was asked for long ago. Never throws; there is one at a time. */
  round(): Promise<void> {
    this.#round ??= this.#readAll().finally(() => {
      this.#round = undefined;
    });
    return this.#round;
  }

  async #readAll(): Promise<void> {
    const chainIds = [...new Set(this.parts.assets.map(({ chainId }) => chainId))];
    await Promise.all(chainIds.map((chainId) => this.#readChain(chainId)));
  }

  async #readChain(chainId: number): Promise<void> {
    for (const known of this.parts.assets) {
      if (known.chainId !== chainId || !this.#isDue(known)) continue;
      const chain = this.parts.chainOf(chainId);
      if (chain === undefined || this.#isStopped) return;
      try {
        const facts = await chain.withView((view) => read(view, known));
        this.#readings.set(known, { at: new Date(this.parts.clock.now()), facts });
      } catch (error) {
        // The others would not be answered either.
        if (error instanceof ChainUnavailableError) return;
        this.parts.onFault(error, known);
      }
    }
  }

  #isDue(known: KnownAsset): boolean {
    const at = this.#readings.get(known)?.at.getTime();
    return at === undefined || this.parts.clock.now() - at > READING_KEPT_MS;
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
