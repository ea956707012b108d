import type { Address, Hex } from 'viem';
import type { AuthorizationUse } from '../../../../src/platform/chain/authorization-use.js';
import type { ChainView } from '../../../../src/platform/chain/chain-view.js';
import type { EvmChain } from '../../../../src/platform/chain/evm-chain.js';
import type { BlockRange } from '../../../../src/platform/chain/use-search/scan.js';
import { ChainUnavailableError } from '../../../../src/protocol/errors.js';
import { uintWord } from '../../../../src/protocol/evm/abi-words.js';
import type { Call } from '../../../../src/protocol/evm/calls.js';
import type { CallOutcome } from '../../../../src/protocol/evm/chain-reader.js';
import { PERMIT2 } from '../../../../src/protocol/evm/contracts.js';
import type { TransferMethod } from '../../../../src/protocol/evm/transfer-method.js';
import type { AuthorizationRef } from '../../../../src/protocol/schemes/authorization-method.js';

export const TX: Hex = `0x${'5f'.repeat(32)}`;

interface Search {
  readonly ref: AuthorizationRef;
  readonly from: bigint;
  readonly to: bigint;
}

/** A chain that knows of one authorization whether it was used, and by whom. */
export interface UseChain {
  readonly chain: EvmChain;
  readonly usedBy: TransferMethod | undefined;
  /** What a search finds. */
  readonly use: AuthorizationUse | undefined;
  readonly search: 'works' | 'fails';
  readonly state: 'known' | 'away';
  readonly payerHasCode: boolean;
  readonly head: bigint;
  /** So many reads fail before one is answered. */
  readonly failures: number;
  /** Addresses that were called. */
  readonly asked: readonly Address[];
  readonly searched: readonly Search[];
}

export function aUseChain(options: Partial<UseChain> = {}): UseChain {
  const asked: Address[] = [];
  const searched: Search[] = [];
  const world: Omit<UseChain, 'chain' | 'asked' | 'searched'> = {
    usedBy: undefined,
    search: 'works',
    state: 'known',
    payerHasCode: false,
    head: 100n,
    failures: 0,
    use: { transaction: TX, blockNumber: 7n, blockHash: TX, logIndex: 0 },
    ...options,
  };
  let failures = world.failures;
  const away = (): ChainUnavailableError => new ChainUnavailableError(56, 'a test');
  const view = {
    call: ({ to }: Call): Promise<CallOutcome> => {
      asked.push(to);
      if (world.state === 'away') return Promise.reject(away());
      const isUsed = world.usedBy === (to === PERMIT2 ? 'permit2' : 'eip3009');
      // All bits of a bitmap, or the one of a yes.
      const yes = to === PERMIT2 ? 2n ** 256n - 1n : 1n;
      return Promise.resolve({ status: 'returned', data: `0x${uintWord(isUsed ? yes : 0n)}` });
    },
    hasCode: () => Promise.resolve(world.payerHasCode),
  } as unknown as ChainView;
  const chain = {
    withView: <T>(work: (one: ChainView) => Promise<T>): Promise<T> => work(view),
    recentBlocks: (count: bigint): Promise<BlockRange> => {
      failures -= 1;
      if (failures >= 0) return Promise.reject(away());
      const from = world.head > count ? world.head - count : 0n;
      return Promise.resolve({ from, to: world.head });
    },
    uses: {
      find: (ref: AuthorizationRef, range: { readonly from: bigint; readonly to: bigint }) => {
        searched.push({ ref, ...range });
        if (world.search === 'fails') return Promise.reject(away());
        return Promise.resolve(
          world.use === undefined ? { kind: 'absent' } : { kind: 'found', use: world.use },
        );
      },
    },
  } as unknown as EvmChain;
  return { ...world, chain, asked, searched };
}
