import type { Address, Hex } from 'viem';
import { privateKeyToAddress } from 'viem/accounts';
import type { Secret } from '../config/secret.js';
import type { Call } from '../core/exact/calls.js';
import type { SentTransaction } from '../core/settlement/attempt.js';
import type { Fees } from '../core/settlement/gas-price.js';
import { signTransaction } from '../crypto/sign-transaction.js';

/** Signs the transactions of one lane. */
export class LaneSigner {
  readonly address: Address;
  readonly #key: Uint8Array;

  constructor(
    key: Secret<Hex>,
    private readonly chainId: number,
  ) {
    this.address = privateKeyToAddress(key.reveal()).toLowerCase() as Address;
    this.#key = Buffer.from(key.reveal().slice(2), 'hex');
  }

  /** A call that only uses up an account nonce: nothing, to itself. */
  get noop(): Call {
    return { to: this.address, data: '0x' };
  }

  sign({ to, data }: Call, accountNonce: number, gas: bigint, fees: Fees): SentTransaction {
    const { raw, hash } = signTransaction(
      { chainId: this.chainId, nonce: accountNonce, gas, to, data, ...fees },
      this.#key,
    );
    return { hash, raw, gas, signedAt: Date.now(), ...fees };
  }
}
