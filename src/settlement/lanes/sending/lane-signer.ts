import type { Address } from 'viem';
import type { Clock } from '../../../platform/concurrency/clock.js';
import { prepareTransaction } from '../../../platform/crypto/sign-transaction.js';
import type { DigestSigner } from '../../../platform/signing/digest-signer.js';
import type { Call } from '../../../protocol/evm/calls.js';
import type { SignedTransaction } from '../../model/attempt.js';
import type { TransactionOrder, TransactionSigner } from '../ports.js';

/** Signs the transactions of one lane, wherever its key is kept. */
export class LaneSigner implements TransactionSigner {
  constructor(
    private readonly signer: DigestSigner,
    private readonly chainId: number,
    private readonly clock: Clock,
  ) {}

  get address(): Address {
    return this.signer.address;
  }

  get isAvailable(): boolean {
    return this.signer.isAvailable;
  }

  get noop(): Call {
    return { to: this.address, data: '0x' };
  }

  async sign({
    call,
    accountNonce,
    gas,
    fees,
    isNoop,
    valueWei = 0n,
  }: TransactionOrder): Promise<SignedTransaction | undefined> {
    const order = { chainId: this.chainId, nonce: accountNonce, gas, value: valueWei };
    const prepared = prepareTransaction({ ...order, ...call, ...fees });
    const signature = await this.signer.sign(prepared.digest);
    if (signature === undefined) return undefined;
    const { raw, hash } = prepared.with(signature);
    return { hash, raw, gas, signedAt: this.clock.now(), isNoop, ...fees };
  }
}
