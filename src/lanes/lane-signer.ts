import { type Address, type Hex, keccak256 } from 'viem';
import { type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts';
import type { Secret } from '../config/secret.js';
import type { Call } from '../core/exact/calls.js';
import type { SentTransaction } from '../core/settlement/attempt.js';
import type { Fees } from '../core/settlement/gas-price.js';

/** Signs the transactions of one lane. */
export class LaneSigner {
  readonly address: Address;
  readonly #account: PrivateKeyAccount;

  constructor(
    key: Secret<Hex>,
    private readonly chainId: number,
  ) {
    this.#account = privateKeyToAccount(key.reveal());
    this.address = this.#account.address.toLowerCase() as Address;
  }

  /** A call that only uses up an account nonce: nothing, to itself. */
  get noop(): Call {
    return { to: this.address, data: '0x' };
  }

  async sign(
    { to, data }: Call,
    accountNonce: number,
    gas: bigint,
    fees: Fees,
  ): Promise<SentTransaction> {
    const raw = await this.#account.signTransaction({
      type: 'eip1559',
      chainId: this.chainId,
      nonce: accountNonce,
      to,
      data,
      gas,
      value: 0n,
      ...fees,
    });
    return { hash: keccak256(raw), raw, gas, signedAt: Date.now(), ...fees };
  }
}
