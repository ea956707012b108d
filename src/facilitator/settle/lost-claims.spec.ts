import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { Hex } from 'viem';
import {
  PAYEE,
  PAYER,
  STRANGER,
  TOKEN,
} from '../../../test/builders/protocol/schemes/exact/exact-payment.js';
import { aSettlementView } from '../../../test/builders/settlement/model/settlement-view.js';
import type { EvmChain } from '../../platform/chain/evm-chain.js';
import { ChainUnavailableError } from '../../protocol/errors.js';
import type { PaymentIdentity } from '../../protocol/payment/identity.js';
import type { PublishedStatus } from '../../settlement/ledger/queries/lane-queries.js';
import type { Adoption } from '../../settlement/ledger/settlement-store.js';
import { LostClaims } from './lost-claims.js';

const TX: Hex = `0x${'5f'.repeat(32)}`;
const BLOCK: Hex = `0x${'b1'.repeat(32)}`;
const SIGNER = '0xAb5801a7D398351b8bE11C439e05C5B3259aeC9B';

interface World {
  /** Who sent the transaction that used the authorization. */
  readonly from?: string;
  readonly logIndex?: number | undefined;
  /** Looks after which the use is final. */
  readonly finalAfter?: number;
  readonly failures?: number;
  readonly isOtherClaim?: boolean;
  /** How often the ledger answers that it still waits for others. */
  readonly awaited?: number;
  readonly laneChainId?: number;
}

describe('a claim that the ledger has lost', () => {
  beforeEach(() => {
    jest.useFakeTimers();
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  async function adopt({ from = SIGNER.toLowerCase(), finalAfter = 0, ...world }: World) {
    const adopted: Adoption[] = [];
    const searched: { readonly from: bigint; readonly to: bigint }[] = [];
    let looks = 0;
    const logIndex = 'logIndex' in world ? world.logIndex : 3;
    const chain = {
      currentFinalizedBlock: () => {
        looks += 1;
        if (looks <= (world.failures ?? 0)) {
          return Promise.reject(new ChainUnavailableError(56, 'a test'));
        }
        return Promise.resolve({ number: 5000n });
      },
      uses: {
        find: (_: unknown, range: { readonly from: bigint; readonly to: bigint }) => {
          searched.push(range);
          const use = { transaction: TX, blockNumber: 7n, blockHash: BLOCK, logIndex };
          return Promise.resolve(looks > finalAfter ? { kind: 'found', use } : { kind: 'absent' });
        },
      },
      // What two endpoints say; the word of one alone is not asked for.
      quorumRead: () => Promise.resolve(from),
    } as unknown as EvmChain;
    const lane = { chainId: world.laneChainId ?? 56, signer: SIGNER } as PublishedStatus;
    const claims = new LostClaims(
      {
        adopt: (_, adoption) => {
          adopted.push(adoption);
          if (adopted.length <= (world.awaited ?? 0)) return Promise.resolve({ kind: 'not_yet' });
          return Promise.resolve(
            world.isOtherClaim === true
              ? { kind: 'known' }
              : { kind: 'sold', view: aSettlementView() },
          );
        },
      },
      { all: () => Promise.resolve([lane]) },
    );
    const deadline = Date.now() + 2000;
    const found = claims.adopt(
      {
        ref: { chainId: 56, id: 'claim' },
        identity: {} as PaymentIdentity,
        requester: { id: 'p.1', keyTag: '', credentials: [], arrivedAt: 0 },
        authorization: { method: 'eip3009', asset: TOKEN, payer: PAYER, nonce: 1n, payTo: PAYEE },
        settledAmount: undefined,
        deadlineAt: () => deadline,
      },
      chain,
    );
    await jest.advanceTimersByTimeAsync(3000);
    return { found: await found, isAdopted: (await found) !== undefined, adopted, searched, looks };
  }

  it.each<[string, World, boolean]>([
    ['that one of our signers has paid is ours', {}, true],
    ['that becomes final while its requester waits', { finalAfter: 3 }, true],
    ['that is final too late', { finalAfter: 100 }, false],
    ['that a stranger has paid is not', { from: STRANGER }, false],
    ['that a signer of another chain has paid is not', { laneChainId: 97 }, false],
    // Its calldata does not show that it was exactly this payment.
    ['whose transfer is not found is not', { logIndex: undefined }, false],
    ['of which the ledger has another claim is not', { isOtherClaim: true }, false],
    ['is looked for again while no endpoint answers', { failures: 3 }, true],
  ])('%s', async (_, world, expected) => {
    expect((await adopt(world)).isAdopted).toBe(expected);
  });

  it.each<[number, string]>([
    [3, 'object'],
    [100, 'not_yet'],
  ])('waits for what others told: %i times', async (awaited, expected) => {
    const { found } = await adopt({ awaited });
    expect(typeof found === 'object' ? 'object' : found).toBe(expected);
  });

  it('is made a record of with the transaction that paid it', async () => {
    const { adopted, searched } = await adopt({});
    expect(adopted).toMatchObject([
      { chainId: 56, id: 'claim', transaction: TX, blockNumber: 7n, logIndex: 3, blockHash: BLOCK },
    ]);
    expect(searched).toEqual([{ from: 4000n, to: 5000n }]);
  });

  it('is looked for four times a second, and not after the time of its requester', async () => {
    const { looks, adopted } = await adopt({ finalAfter: 100 });
    expect(looks).toBeGreaterThanOrEqual(8);
    expect(looks).toBeLessThanOrEqual(9);
    expect(adopted).toEqual([]);
  });
});
