import type { ChainRegistry } from '../../platform/chain/chain-registry.js';
import { ChainUnavailableError } from '../../protocol/errors.js';
import { isSignedByContract } from '../../protocol/schemes/checks-on-chain.js';
import type { RecoverSigner } from '../../protocol/schemes/verdict.js';
import type { IsSignedBy } from './statements.js';

/** What a wallet may use to look at a signature. */
const GAS = 500_000n;

/** By the key of an account, else by the wallet that is a contract there (ERC-1271). */
export function signedBy(chains: Pick<ChainRegistry, 'get'>, recover: RecoverSigner): IsSignedBy {
  return async ({ chainId, address }, digest, signature) => {
    if (recover(digest, signature)?.toLowerCase() === address) return true;
    const chain = chains.get(chainId);
    if (chain === undefined) return false;
    if (!chain.isRightChain) throw new ChainUnavailableError(chainId, 'statement');
    return chain.withView(async (view) => {
      const code = await view.code(address);
      if (code === '0x') return false;
      return isSignedByContract({ chain: view, maxGas: GAS }, address, digest, signature);
    });
  };
}
