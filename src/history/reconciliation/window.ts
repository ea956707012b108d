import type { Address } from 'viem';
import type { BlockHeader } from '../../platform/chain/block.js';
import { ChainUnavailableError } from '../../protocol/errors.js';
import type { ChainEvidence } from './chain-evidence.js';
import type { LaneState } from './records.js';
import type { Checkpoint, TimeSpan } from './settlement-history.js';

/** The blocks of a run; empty if the first is above the last. */
export interface Blocks {
  readonly first: bigint;
  readonly last: BlockHeader;
}

/** The states of a lane before the first and after the last block; `undefined` if they could not be read. */
export interface Ends {
  readonly before: LaneState | undefined;
  readonly after: LaneState | undefined;
}

/**
 * The blocks of a window, up to the newest final block.
 *
 * @throws ChainUnavailableError, also if the last block of the earlier run no longer exists.
 */
export async function blocksOf(
  evidence: Pick<ChainEvidence, 'chainId' | 'finalBlock' | 'header' | 'firstBlockSince'>,
  { fromMs, toMs }: TimeSpan,
  resume: Checkpoint | undefined,
): Promise<Blocks> {
  const final = await evidence.finalBlock();
  const isOpen = final.timestamp * 1000 < toMs;
  const end = isOpen ? final.number : (await evidence.firstBlockSince(toMs, final)) - 1n;
  const last = end === final.number ? final : await evidence.header(end);
  if (resume === undefined) return { first: await evidence.firstBlockSince(fromMs, last), last };
  // After a change or a reset of the chain, the earlier end is meaningless.
  const { hash } = await evidence.header(resume.lastBlock);
  if (hash !== resume.lastHash) {
    throw new ChainUnavailableError(evidence.chainId, 'last block of the previous run');
  }
  return { first: resume.lastBlock + 1n, last };
}

/** The states of a lane at both ends. An earlier run may have stored the first one. */
export async function endsOf(
  evidence: Pick<ChainEvidence, 'laneState'>,
  lane: Address,
  at: {
    readonly before: BlockHeader | undefined;
    readonly last: BlockHeader;
    readonly resume: Checkpoint | undefined;
  },
): Promise<Ends> {
  const [before, after] = await Promise.all([
    at.resume?.lanes.get(lane) ?? (at.before && evidence.laneState(lane, at.before)),
    evidence.laneState(lane, at.last),
  ]);
  return { before, after };
}
