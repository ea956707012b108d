import type { Address, Hex } from 'viem';
import { privateKeyToAddress } from 'viem/accounts';
import type { Clock } from '../../../platform/concurrency/clock.js';
import type { Secret } from '../../../platform/config/secret.js';
import { signTransaction } from '../../../platform/crypto/sign-transaction.js';
import type { Call } from '../../../protocol/evm/calls.js';
import type { SignedTransaction } from '../../model/attempt.js';
import type { TransactionOrder, TransactionSigner } from '../ports.js';

/** Signs the transactions of one lane. */
export class LaneSigner implements TransactionSigner {
  readonly address: Address;
  readonly #key: Uint8Array;

  constructor(
    key: Secret<Hex>,
    private readonly chainId: number,
    private readonly clock: Clock,
  ) {
    this.address = privateKeyToAddress(key.reveal()).toLowerCase() as Address;
    this.#key = Buffer.from(key.reveal().slice(2), 'hex');
  }

  get noop(): Call {
    return { to: this.address, data: '0x' };
  }

  sign({
    call,
    accountNonce,
    gas,
    fees,
    isNoop,
    valueWei = 0n,
  }: TransactionOrder): SignedTransaction {
    const { raw, hash } = signTransaction(
      { chainId: this.chainId, nonce: accountNonce, gas, value: valueWei, ...call, ...fees },
      this.#key,
    );
    return { hash, raw, gas, signedAt: this.clock.now(), isNoop, ...fees };
  }
}
