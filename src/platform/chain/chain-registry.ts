import type { EvmChain } from './evm-chain.js';

/** The networks this deployment serves. */
export class ChainRegistry {
  readonly #byId: ReadonlyMap<number, EvmChain>;

  constructor(readonly all: readonly EvmChain[]) {
    this.#byId = new Map(all.map((chain) => [chain.chainId, chain]));
  }

  /** `undefined` for a chain that is not configured, and for one whose endpoints are all of another. */
  served(chainId: number): EvmChain | undefined {
    const chain = this.#byId.get(chainId);
    return chain?.isRightChain === true ? chain : undefined;
  }

  get(chainId: number): EvmChain | undefined {
    return this.#byId.get(chainId);
  }
}
