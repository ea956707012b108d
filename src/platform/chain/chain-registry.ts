import type { OnModuleDestroy } from '@nestjs/common';
import type { EvmChain } from './evm-chain.js';

/** The networks this deployment serves. */
export class ChainRegistry implements OnModuleDestroy {
  readonly #byId: ReadonlyMap<number, EvmChain>;

  constructor(readonly all: readonly EvmChain[]) {
    this.#byId = new Map(all.map((chain) => [chain.chainId, chain]));
  }

  /** `undefined` for a chain that is not configured, and for one whose endpoints all serve another chain. */
  served(chainId: number): EvmChain | undefined {
    const chain = this.#byId.get(chainId);
    return chain?.isRightChain === true ? chain : undefined;
  }

  async onModuleDestroy(): Promise<void> {
    await Promise.all(this.all.map((chain) => chain.close()));
  }

  get(chainId: number): EvmChain | undefined {
    return this.#byId.get(chainId);
  }
}
