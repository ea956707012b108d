import type { Address } from 'viem';
import type { Call } from '../../../protocol/evm/calls.js';
import type { SignedTransaction } from '../../model/attempt.js';
import type { RefillRules } from '../../model/refill.js';
import type { TransactionOrder, TransactionSigner } from '../ports.js';
import { FUND_GAS } from '../sending/broadcaster.js';

/**
 * The signer of a treasury. It trusts neither its caller nor the ledger, and signs only two things: native coins for a
 * lane in the settings, within the daily limit, and a transfer of zero to itself.
 */
export class RefillSigner implements TransactionSigner {
  constructor(
    private readonly signer: TransactionSigner,
    private readonly rules: Pick<RefillRules, 'lanes' | 'dailyCapWei'>,
  ) {}

  get address(): Address {
    return this.signer.address;
  }

  get isAvailable(): boolean {
    return this.signer.isAvailable;
  }

  get noop(): Call {
    return this.signer.noop;
  }

  sign(order: TransactionOrder): Promise<SignedTransaction | undefined> {
    return this.#mayBeSigned(order) ? this.signer.sign(order) : Promise.resolve(undefined);
  }

  #mayBeSigned({ call, gas, valueWei = 0n, isNoop }: TransactionOrder): boolean {
    const { lanes, dailyCapWei } = this.rules;
    if (call.data !== '0x' || gas !== FUND_GAS) return false;
    if (isNoop) return call.to === this.address && valueWei === 0n;
    return lanes.has(call.to) && valueWei > 0n && valueWei <= dailyCapWei;
  }
}
