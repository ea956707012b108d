import { Inject, Injectable } from '@nestjs/common';
import type { Address, Hex } from 'viem';
import { ChainRegistry } from '../../platform/chain/chain-registry.js';
import type { EvmChain } from '../../platform/chain/evm-chain.js';
import type { WalletConfig } from '../../platform/config/wallet-settings.js';
import { unwrapErc6492, type WrappedSignature } from '../../protocol/evm/erc6492.js';
import {
  isSignedByContract,
  isSignedOnceDeployed,
} from '../../protocol/schemes/checks-on-chain.js';
import { WALLET_SETTINGS } from '../wallet-tokens.js';

/** The gas limit for a wallet's check of a signature: passkeys checked in Solidity need half of it. */
const SIGNATURE_GAS = 1_000_000n;
/** Additional gas limit for its factory. */
const DEPLOYMENT_GAS = 500_000n;

/**
 * Owners that are contracts. The contract's code on one chain decides whether it signed (ERC-1271), or will decide
 * after its factory has deployed it (ERC-6492). Only one chain counts: another party may own the same address on
 * another chain.
 */
@Injectable()
export class ContractOwners {
  readonly #chain: Pick<EvmChain, 'chainId' | 'quorumRead'> | undefined;

  constructor(
    @Inject(WALLET_SETTINGS) { contractOwnersOn }: Pick<WalletConfig, 'contractOwnersOn'>,
    @Inject(ChainRegistry)
    chains: { get(chainId: number): Pick<EvmChain, 'chainId' | 'quorumRead'> | undefined },
  ) {
    this.#chain = contractOwnersOn === undefined ? undefined : chains.get(contractOwnersOn);
  }

  /** `undefined` where no contract may be an owner. */
  get chainId(): number | undefined {
    return this.#chain?.chainId;
  }

  /**
   * Two endpoints must agree, if there are two.
   *
   * @param owner - lower case.
   * @param signature - lower case.
   * @throws ChainUnavailableError when no endpoint answers, or the code does not finish.
   */
  async isSignedBy(owner: Address, digest: Hex, signature: Hex): Promise<boolean> {
    const wrapped = unwrapErc6492(signature);
    if (this.#chain === undefined || typeof wrapped === 'string') return false;
    return this.#chain.quorumRead({
      what: 'signature of an owner',
      read: async (view) => {
        const { hash } = await view.latestBlock();
        const inner = wrapped?.inner ?? signature;
        const value = (await view.hasCode(owner))
          ? await isSignedByContract({ chain: view, maxGas: SIGNATURE_GAS }, owner, digest, inner)
          : await isSignedLater(view, { owner, digest, wrapped });
        // Two endpoints may be a block apart for a moment, and neither is wrong.
        return { value, key: String(value), subject: hash };
      },
    });
  }
}

interface Undeployed {
  readonly owner: Address;
  readonly digest: Hex;
  readonly wrapped: WrappedSignature | undefined;
}

/** An account without code and without a factory has a key, which was checked before. */
async function isSignedLater(
  chain: Parameters<typeof isSignedOnceDeployed>[0]['chain'],
  { owner, digest, wrapped }: Undeployed,
): Promise<boolean> {
  if (wrapped === undefined) return false;
  const { deployment, inner } = wrapped;
  const maxGas = SIGNATURE_GAS + DEPLOYMENT_GAS;
  return isSignedOnceDeployed({ chain, maxGas }, owner, deployment, digest, inner);
}
