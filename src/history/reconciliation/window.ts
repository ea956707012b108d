import type { Address } from 'viem';
import type { BlockHeader } from '../../platform/chain/block.js';
import { ChainUnavailableError } from '../../protocol/errors.js';
import type { ChainEvidence } from './chain-evidence.js';
import type { LaneState } from './records.js';
import type { Checkpoint, TimeSpan } from './settlement-history.js';

/** The blocks of a run: none where the first is above the last. */
export interface Blocks {
  readonly first: bigint;
  readonly last: BlockHeader;
}

/** A lane before the first and after the last block; `undefined` where that could not be read. */
export interface Ends {
  readonly before: LaneState | undefined;
  readonly after: LaneState | undefined;
}

/**
 * The blocks of a time, up to the newest final one.
 *
 * @throws ChainUnavailableError, also where the block is gone at which an earlier run ended.
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
  // Another chain, or one that was reset, would have nothing to read from there on.
  const { hash } = await evidence.header(resume.lastBlock);
  if (hash !== resume.lastHash) {
    throw new ChainUnavailableError(evidence.chainId, 'the block where the last run ended');
  }
  return { first: resume.lastBlock + 1n, last };
}

/** A lane at both ends of a run; an earlier run may know it at the first. */
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
