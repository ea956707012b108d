import { Injectable } from '@nestjs/common';
import { type Address, formatUnits } from 'viem';
import { ChainRegistry } from '../../platform/chain/chain-registry.js';
import type { WalletAsset } from '../../platform/config/wallet-assets.js';
import { ChainUnavailableError } from '../../protocol/errors.js';
import { decodeUint } from '../../protocol/evm/call-results.js';
import { balanceOfCall } from '../../protocol/evm/calls.js';
import { WalletError } from '../wallet-error.js';

/** Balances of a wallet, read from the chain. */
@Injectable()
export class Balances {
  constructor(private readonly chains: ChainRegistry) {}

  /** Atomic units; `undefined` when the chain or the token does not answer. */
  async of(owner: Address, { chainId, address }: WalletAsset): Promise<bigint | undefined> {
    const chain = this.chains.served(chainId);
    if (chain === undefined) return undefined;
    try {
      return await chain.withView(async (view) =>
        decodeUint(await view.call(balanceOfCall(address, owner))),
      );
    } catch (error) {
      if (error instanceof ChainUnavailableError) return undefined;
      throw error;
    }
  }

  /** @throws WalletError `INSUFFICIENT_FUNDS`; if the balance cannot be read, the seller checks it. */
  async check(owner: Address, token: WalletAsset, amount: bigint): Promise<void> {
    const balance = await this.of(owner, token);
    if (balance === undefined || balance >= amount) return;
    const decimal = (value: bigint): string => formatUnits(value, token.decimals);
    throw new WalletError(
      'INSUFFICIENT_FUNDS',
      `The wallet has ${decimal(balance)} ${token.symbol}, and the payment is ${decimal(amount)}. Send ${token.symbol} to ${owner}.`,
    );
  }
}
