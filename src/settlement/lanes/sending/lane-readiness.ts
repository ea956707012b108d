import type { Address } from 'viem';
import type { BlockHeader } from '../../../platform/chain/block.js';
import type { Head } from '../../../platform/chain/head-watcher.js';
import type { Clock } from '../../../platform/concurrency/clock.js';
import { ChainUnavailableError } from '../../../protocol/errors.js';
import type { Sender } from '../../../protocol/evm/chain-reader.js';
import { effectivePrice, type Fees, feesFor } from '../../model/gas-price.js';
import type { LaneCondition } from '../../model/lane-status.js';
import type {
  FeeMarkets,
  GasEstimates,
  LaneChain,
  LaneHeads,
  TransactionSigner,
} from '../ports.js';
import type { LaneState } from '../state/lane-state.js';
import type { GasBalance } from './gas-balance.js';

/** Pause of a lane after a missing answer. */
const REST_MS = 500;
/** The assumed price of gas before the first read: 1 gwei. */
const UNKNOWN_PRICE_WEI = 1_000_000_000n;

interface LaneReadinessOptions {
  readonly chain: Pick<LaneChain, 'newestElsewhere'>;
  readonly address: Address;
  /** `undefined` where this process has no key of the lane. */
  readonly signer: Pick<TransactionSigner, 'isAvailable'> | undefined;
  readonly heads: LaneHeads;
  readonly state: LaneState;
  readonly fees: FeeMarkets;
  readonly gasBalance: GasBalance;
  readonly gasEstimates: GasEstimates;
  /** Milliseconds; 0 for a chain that mines on demand. */
  readonly headMaxAgeMs: number;
  readonly clock: Clock;
}

/** Whether a lane can send now, the price it would pay, and otherwise the reason, which the lane reports. */
export class LaneReadiness {
  #fees: Fees | undefined;
  #restsUntil = 0;

  constructor(private readonly options: LaneReadinessOptions) {}

  reset(): void {
    this.#restsUntil = 0;
  }

  async isReady(): Promise<boolean> {
    const { state, heads, clock, fees, gasBalance, signer } = this.options;
    if (state.isPaused || clock.steady() < this.#restsUntil) return false;
    if (signer?.isAvailable === false) return this.rest('signer_unavailable');
    const head = heads.current;
    if (head === undefined) return false;
    try {
      await gasBalance.refresh();
      this.#fees = feesFor(await fees.market(head));
    } catch (error) {
      if (!(error instanceof ChainUnavailableError)) throw error;
      return this.rest('chain_unavailable');
    }
    if (this.#fees === undefined) return this.rest('gas_price_cap');
    if (await this.#isStale(head)) return this.rest('head_stale');
    if (!(await this.#hasGas())) return this.rest('no_gas');
    state.condition = undefined;
    return true;
  }

  /** Takes no work for a moment, and says why. */
  rest(condition: LaneCondition): false {
    this.options.state.condition = condition;
    this.#restsUntil = this.options.clock.steady() + REST_MS;
    return false;
  }

  /** One endpoint with an old head does not stop the lane while another endpoint has a newer head. */
  async #isStale({ view, latest }: Head): Promise<boolean> {
    const { headMaxAgeMs, clock, chain } = this.options;
    const isOld = ({ timestamp }: BlockHeader): boolean =>
      clock.now() - timestamp * 1000 > headMaxAgeMs;
    if (headMaxAgeMs === 0 || !isOld(latest)) return false;
    return (await chain.newestElsewhere(view, latest)).every(isOld);
  }

  /** One endpoint with a low balance does not stop the lane while another endpoint shows a higher one. */
  async #hasGas(): Promise<boolean> {
    if (this.settlementsLeft() >= 1) return true;
    try {
      await this.options.gasBalance.confirm();
    } catch (error) {
      if (!(error instanceof ChainUnavailableError)) throw error;
    }
    return this.settlementsLeft() >= 1;
  }

  // ---------------------------------------------------------------- gas balance

  /** How many more settlements the gas balance pays for, at the price of now. */
  settlementsLeft(): number {
    const { gasBalance, gasEstimates, state } = this.options;
    const price = this.#fees?.maxFeePerGas ?? UNKNOWN_PRICE_WEI;
    return gasBalance.settlementsLeft(state.pending, gasEstimates.typical * price);
  }

  /**
   * Whether the money suffices for something that costs this many wei. If one endpoint's value is too low, all are
   * asked in the background, and the work is offered again.
   */
  canSpend(costWei: bigint): boolean {
    const { gasBalance, state } = this.options;
    const isThere = gasBalance.settlementsLeft(state.pending, costWei) >= 1;
    if (!isThere) gasBalance.confirmBeside();
    return isThere;
  }

  /** Wei for this much gas at the present fees. */
  costOf(gas: bigint): bigint {
    return gas * (this.#fees?.maxFeePerGas ?? 0n);
  }

  /** Gas that the free money pays for at the present fees; `undefined` where gas costs nothing. */
  get payableGas(): bigint | undefined {
    const { gasBalance, state } = this.options;
    const price = this.#fees?.maxFeePerGas ?? 0n;
    return price === 0n ? undefined : gasBalance.freeWei(state.pending) / price;
  }

  /** A node takes only what its sender could pay for if it used all its gas. */
  canPayFor(gas: bigint): boolean {
    return this.canSpend(this.costOf(gas));
  }

  /** Wei for a unit of gas that the lane would pay now. */
  get gasPriceWei(): bigint {
    const baseFee = this.options.heads.current?.latest.baseFeePerGas ?? 0n;
    return this.#fees === undefined ? 0n : effectivePrice(this.#fees, baseFee);
  }

  /** The account of this lane as its next transaction will show it. */
  asSender(): Sender {
    const { address, gasBalance } = this.options;
    return { address, gasPriceWei: this.gasPriceWei, balanceWei: gasBalance.balanceWei };
  }
}
