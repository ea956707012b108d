import type { Hex } from 'viem';
import { isAuthorizationUsed } from '../../platform/chain/authorization-use.js';
import type { BlockHeader } from '../../platform/chain/block.js';
import type { ChainView } from '../../platform/chain/chain-view.js';
import { ChainUnavailableError } from '../../protocol/errors.js';
import type { AuthorizationRef } from '../../protocol/schemes/authorization-method.js';

/** Number of endpoints that have to agree, if there are as many. */
const QUORUM_SIZE = 2;

type FinalUse =
  | {
      readonly kind: 'known';
      readonly isUsed: boolean;
      readonly block: Pick<BlockHeader, 'number' | 'hash' | 'timestamp'>;
    }
  /** Too few endpoints answer. */
  | { readonly kind: 'unknown' }
  /** Endpoints disagree about a final block. */
  | { readonly kind: 'disputed' };

type Views = readonly Pick<
  ChainView,
  'latestBlock' | 'finalizedBlock' | 'block' | 'call' | 'chainId'
>[];

/**
 * Whether an authorization is used at a final block, as two endpoints say of one block hash. One endpoint is believed
 * alone only if there is no other.
 */
export async function readFinalUse(views: Views, ref: AuthorizationRef): Promise<FinalUse> {
  const needed = Math.min(QUORUM_SIZE, views.length);
  const finals = await settled(views, async (view) => ({
    view,
    header: present(view, await view.finalizedBlock(await view.latestBlock())),
  }));
  // The highest block that enough endpoints consider final, so that the head of one endpoint alone moves nothing.
  const heights = finals.map(({ header }) => header.number).sort((a, b) => (a < b ? 1 : -1));
  const height = heights[needed - 1];
  if (height === undefined) return { kind: 'unknown' };
  const holders = finals.filter(({ header }) => header.number >= height);
  const answers = await settled(holders, async ({ view, header }) => {
    const block = header.number === height ? header : present(view, await view.block(height));
    return { block, isUsed: await usedAt(view, ref, block.hash) };
  });
  const [first] = answers;
  if (first === undefined || answers.length < needed) return { kind: 'unknown' };
  const isQuorum = answers.every(
    ({ block, isUsed }) =>
      isUsed === first.isUsed &&
      block.hash === first.block.hash &&
      block.number === height &&
      block.timestamp === first.block.timestamp,
  );
  return isQuorum ? { kind: 'known', ...first } : { kind: 'disputed' };
}

/**
 * Whether the newest blocks show it used, by as many endpoints as a final block would need. A reorganization can undo
 * that.
 */
export async function isUsedNow(views: Views, ref: AuthorizationRef): Promise<boolean> {
  const answers = await settled(views, (view) => isAuthorizationUsed(view as ChainView, ref));
  const needed = Math.min(QUORUM_SIZE, views.length);
  return needed > 0 && answers.filter((isUsed) => isUsed === true).length >= needed;
}

async function usedAt(
  view: Views[number],
  ref: AuthorizationRef,
  blockHash: Hex,
): Promise<boolean> {
  const isUsed = await isAuthorizationUsed(view as ChainView, ref, { blockHash });
  if (isUsed === undefined) throw new ChainUnavailableError(view.chainId, 'authorization state');
  return isUsed;
}

function present({ chainId }: Views[number], header: BlockHeader | undefined): BlockHeader {
  if (header === undefined) throw new ChainUnavailableError(chainId, 'finalized block');
  return header;
}

/** The answers that came. */
async function settled<T, R>(all: readonly T[], ask: (one: T) => Promise<R>): Promise<R[]> {
  const results = await Promise.allSettled(all.map(ask));
  return results.flatMap((result) => {
    if (result.status === 'fulfilled') return [result.value];
    if (result.reason instanceof ChainUnavailableError) return [];
    throw result.reason;
  });
}
