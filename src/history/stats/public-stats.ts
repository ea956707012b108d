import { Inject, Injectable, Optional } from '@nestjs/common';
import { type Address, formatUnits, getAddress } from 'viem';
import { CachedPromise } from '../../platform/concurrency/cached-promise.js';
import { Clock } from '../../platform/concurrency/clock.js';
import { caip2Of } from '../../protocol/payment/network.js';
import { type AssetSums, type PaymentSum, PaymentSums } from '../postgres/payment-sums.js';
import { fromArchive, historyOff } from '../sellers/history-problems.js';
import type { AssetStats, Stats, WindowStats } from './dto/stats.response.js';
import { type KnownToken, KnownTokens } from './known-tokens.js';

const HOUR_MS = 3_600_000;
/** Time windows. Each starts at a full hour. */
const WINDOWS = [
  ['24h', 24],
  ['7d', 7 * 24],
  ['30d', 30 * 24],
] as const;
export const KEPT_MS = 60_000;
/** Assets shown. Any token may be used, so only those with the most payments are shown. */
const ASSETS_MOST = 200;

/**
 * Totals of the payments of this deployment, without payees. Cached for a minute; concurrent requests share one read.
 */
@Injectable()
export class PublicStats {
  readonly #stats: CachedPromise<Stats>;

  /** @param sums - `undefined` without a database. */
  constructor(
    @Optional() @Inject(PaymentSums) private readonly sums: Pick<PaymentSums, 'read'> | undefined,
    private readonly tokens: KnownTokens,
    @Inject(Clock) private readonly clock: Pick<Clock, 'now'>,
  ) {
    this.#stats = new CachedPromise(
      () => this.#read(),
      KEPT_MS,
      () => clock.now(),
    );
  }

  /** @throws CodedError without a database, and if it does not answer. */
  current(): Promise<Stats> {
    return this.#stats.get();
  }

  async #read(): Promise<Stats> {
    if (this.sums === undefined) throw historyOff();
    const now = this.clock.now();
    const hour = now - (now % HOUR_MS);
    const moments = WINDOWS.map(([, hours]) => hour - hours * HOUR_MS);
    const sums = await fromArchive(this.sums.read(moments, ASSETS_MOST));
    return { asOf: new Date(now).toISOString(), networks: byNetwork(sums, this.tokens.list()) };
  }
}

function byNetwork(sums: readonly AssetSums[], tokens: readonly KnownToken[]): Stats['networks'] {
  const networks: Record<string, Record<Address, AssetStats>> = {};
  for (const one of sums) {
    const network = caip2Of(one.chainId);
    const address = getAddress(one.asset);
    const token = tokens.find((known) => known.network === network && known.asset === address);
    (networks[network] ??= {})[one.asset] = statsOf(one, token);
  }
  return networks;
}

function statsOf({ all, since }: AssetSums, token: KnownToken | undefined): AssetStats {
  const { symbol, decimals } = token ?? {};
  const windows = WINDOWS.map(([name], place) => [name, since[place]] as const);
  return {
    ...(symbol !== undefined && { symbol }),
    ...(decimals !== undefined && { decimals }),
    txCount: Number(all.payments),
    totalAmount: String(all.amount),
    windows: Object.fromEntries(
      [...windows, ['all', all] as const].flatMap(([name, sum]) =>
        sum === undefined ? [] : [[name, windowOf(sum, decimals)]],
      ),
    ),
  };
}

function windowOf(sum: PaymentSum, decimals: number | undefined): WindowStats {
  return {
    payments: String(sum.payments),
    amount: String(sum.amount),
    ...(decimals !== undefined && { tokens: formatUnits(sum.amount, decimals) }),
    payers: String(sum.payers),
    payees: String(sum.payees),
  };
}
