import {
  CannotAnswerError,
  ChainUnavailableError,
  EndpointsDisagreeError,
} from '../../protocol/errors.js';
import type { Panel } from './agreement.js';
import type { BlockHeader } from './block.js';
import type { ChainView } from './chain-view.js';
import { isPresent } from './endpoint-health.js';

const WITNESS_TIMEOUT_MS = 1000;

/**
 * The newest block that cannot be replaced any more: never above the head, and where there are two
 * endpoints both have to say so of the same block.
 *
 * @param latest - the newest block of the view; nothing above it is final.
 * @returns `undefined` while the chain is too young to have one.
 * @throws ChainUnavailableError when nobody, or a second one, does not answer just now.
 * @throws EndpointsDisagreeError when two of them have different blocks at the same height.
 */
export async function agreeOnFinalized(
  panel: Panel,
  view: ChainView,
  latest: BlockHeader,
): Promise<BlockHeader | undefined> {
  const isOther = ({ health }: ChainView): boolean => health !== view.health && isPresent(health);
  const witness = panel.views.find(isOther);
  const [own, other] = await Promise.all([
    ownClaim(panel, view, latest),
    witness && witnessClaim(panel, witness, latest),
  ]);
  if (witness === undefined || other === 'absent') return own;
  if (other === undefined || own === undefined) return undefined;
  if (own.hash === other.hash) return own;
  const [lower, higherView] = own.number < other.number ? [own, witness] : [other, view];
  const shown = await higherView.within(WITNESS_TIMEOUT_MS).block(lower.number);
  if (shown?.hash === lower.hash) return lower;
  panel.onDisagreement('finalized block');
  throw new EndpointsDisagreeError(panel.chainId, 'finalized block');
}

/** A block above the head is not final, it is not even there. */
async function ownClaim(
  panel: Panel,
  view: ChainView,
  latest: BlockHeader,
): Promise<BlockHeader | undefined> {
  const finalized = await view.finalizedBlock(latest);
  if (finalized === undefined || finalized.number <= latest.number) return finalized;
  // Blocks may have come between the two questions.
  const newest = await view.latestBlock();
  if (finalized.number > newest.number) panel.onDisagreement('finalized block');
  throw new ChainUnavailableError(view.chainId, 'finalized block');
}

/** What it names need not be known to the first endpoint yet: the lower one of both is compared. */
async function witnessClaim(
  panel: Panel,
  witness: ChainView,
  latest: BlockHeader,
): Promise<BlockHeader | 'absent' | undefined> {
  try {
    return await witness.within(WITNESS_TIMEOUT_MS).finalizedBlock(latest);
  } catch (error) {
    if (!(error instanceof ChainUnavailableError)) throw error;
    if (error instanceof CannotAnswerError) return 'absent';
    panel.onMissingWitness();
    if (isPresent(witness.health)) throw error;
    return 'absent';
  }
}
