import { type AcceptedPayment, assetNameOf } from '../../../protocol/payment/accepted-payment.js';
import { gasCapOf } from '../../../protocol/payment/payment-facts.js';
import { actionOf } from '../../../protocol/schemes/registry.js';

/** Room over what was seen: storage may be warm now and cold when the transaction is mined. */
const MARGIN_NUMERATOR = 6n;
const MARGIN_DENOMINATOR = 5n;

/** Kinds of settlements that are remembered at once. */
const KNOWN_MAX = 2000;

/**
 * The gas of settlements of each token and method, measured by estimates and receipts. The limit of a simulation
 * follows from it, so a transaction never has less gas than was measured.
 */
export class MeasuredGasEstimates {
  readonly #most = new Map<string, bigint>();

  /** @param cap - `MAX_GAS_PER_SETTLE`. */
  constructor(private readonly cap: bigint) {}

  /** The limit to simulate and send with; `undefined` when nothing is known of this kind yet. */
  limitFor(payment: AcceptedPayment): bigint | undefined {
    const most = this.#most.get(profileOf(payment));
    if (most === undefined) return undefined;
    return withMargin(most + suffixGasOf(payment), gasCapOf(payment, this.cap));
  }

  /** Notes used gas, and returns the new limit; `undefined` when it is too high. */
  note(payment: AcceptedPayment, gas: bigint): bigint | undefined {
    const cap = gasCapOf(payment, this.cap);
    if (gas > cap) return undefined;
    const profile = profileOf(payment);
    const suffixGas = suffixGasOf(payment);
    const known = this.#most.get(profile) ?? 0n;
    const most = gas - suffixGas > known ? gas - suffixGas : known;
    if (most > known) this.#learn(profile, most);
    return withMargin(most + suffixGas, cap);
  }

  /**
   * Raises an estimate by a receipt. A receipt never makes the first entry: after a takeover a lane reads receipts before
   * it has simulated anything, and a payee that had a balance costs 17 100 less (EIP-2200, EIP-2929) than one without,
   * which is more than the margin.
   */
  raise(payment: AcceptedPayment, gas: bigint): void {
    if (this.#most.has(profileOf(payment))) this.note(payment, gas);
  }

  /** A typical settlement, to compute how many more the gas balance pays for. */
  get typical(): bigint {
    const seen = [...this.#most.values()];
    return seen.length === 0
      ? UNSEEN_GAS
      : seen.reduce((sum, gas) => sum + gas) / BigInt(seen.length);
  }

  #learn(profile: string, gas: bigint): void {
    // Anybody can make tokens and wallets, so the oldest entry is dropped, and estimated again later.
    const [oldest] = this.#most.keys();
    if (oldest !== undefined && this.#most.size >= KNOWN_MAX) this.#most.delete(oldest);
    this.#most.set(profile, gas);
  }
}

/** The transfer of a proxied stablecoin on BNB Chain is reported to take about this much. */
const UNSEEN_GAS = 105_000n;

function profileOf(payment: AcceptedPayment): string {
  const { authorization, payerHasCode } = payment;
  const wallet = payerHasCode ? authorization.from : 'key';
  const kind = actionOf(authorization).gasProfileOf(authorization);
  return `${assetNameOf(payment)} ${kind} ${wallet}`;
}

/** Gas for a byte of calldata that is not zero (EIP-2028). */
const BYTE_GAS = 16n;

/** The suffix of a call differs from one payment to the next, so its gas is computed and not estimated. */
function suffixGasOf({ dataSuffix = '0x' }: AcceptedPayment): bigint {
  return BYTE_GAS * BigInt((dataSuffix.length - 2) / 2);
}

function withMargin(gas: bigint, cap: bigint): bigint {
  const limit = (gas * MARGIN_NUMERATOR) / MARGIN_DENOMINATOR;
  return limit < cap ? limit : cap;
}
