import { Inject, Injectable } from '@nestjs/common';
import type { Address, Hex } from 'viem';
import { ChainRegistry } from '../../platform/chain/chain-registry.js';
import { loadSignerRecovery } from '../../platform/crypto/recover-signer.js';
import { ChainUnavailableError } from '../../protocol/errors.js';
import { isSignedByContract } from '../../protocol/schemes/checks-on-chain.js';

/** Gas that a wallet may use to check a signature. */
const GAS = 500_000n;

/** Whether a payee has signed: with the key of an account, otherwise with its contract wallet (ERC-1271). */
@Injectable()
export class PayeeSignatures {
  readonly #recover = loadSignerRecovery().recoverSigner;

  constructor(@Inject(ChainRegistry) private readonly chains: Pick<ChainRegistry, 'get'>) {}

  /** @throws ChainUnavailableError */
  async isSignedBy(
    { chainId, address }: { readonly chainId: number; readonly address: Address },
    digest: Hex,
    signature: Hex,
  ): Promise<boolean> {
    if (this.#recover(digest, signature)?.toLowerCase() === address) return true;
    const chain = this.chains.get(chainId);
    if (chain === undefined) return false;
    if (!chain.isRightChain) throw new ChainUnavailableError(chainId, 'statement');
    return chain.withView(async (view) => {
      const code = await view.code(address);
      if (code === '0x') return false;
      return isSignedByContract({ chain: view, maxGas: GAS }, address, digest, signature);
    });
  }
}
