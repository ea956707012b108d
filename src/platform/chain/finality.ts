import {
  CannotAnswerError,
  ChainUnavailableError,
  EndpointsDisagreeError,
} from '../../protocol/errors.js';
import type { Panel } from './agreement.js';
import { type BlockHeader, isSameBlock } from './block.js';
import type { ChainView } from './chain-view.js';
import { isPresent } from './endpoint-health.js';

const WITNESS_TIMEOUT_MS = 1000;

/** What one endpoint names as final. */
interface Named {
  readonly view: ChainView;
  readonly header: BlockHeader;
}

/**
 * The newest block that cannot be replaced any more: never above the head, and where there are two
 * endpoints both have to say so of the same block, with its number and its time. A third one decides
 * where the first two differ.
 *
 * @param latest - the newest block of the view; nothing above it is final.
 * @returns `undefined` while the chain is too young to have one.
 * @throws ChainUnavailableError when nobody, or a second one, does not answer just now.
 * @throws EndpointsDisagreeError when no two of them name the same block.
 */
export async function agreeOnFinalized(
  panel: Panel,
  view: ChainView,
  latest: BlockHeader,
): Promise<BlockHeader | undefined> {
  const isOther = ({ health }: ChainView): boolean => health !== view.health && isPresent(health);
  const [first, ...others] = panel.views.filter(isOther);
  const [own, second] = await Promise.all([
    ownClaim(panel, view, latest),
    first && witnessClaim(panel, first, latest),
  ]);
  if (first === undefined) return own;
  const said: Named[] = own === undefined ? [] : [{ view, header: own }];
  let claim = second;
  for (const witness of [first, ...others.slice(0, 1)]) {
    if (witness !== first) claim = await witnessClaim(panel, witness, latest);
    if (claim === 'absent') continue;
    if (claim === undefined || own === undefined) return undefined;
    const named = { view: witness, header: claim };
    for (const before of said) {
      const agreed = await commonBlock(before, named);
      if (agreed !== undefined && agreed.number <= latest.number) return agreed;
    }
    said.push(named);
    panel.onDisagreement('finalized block');
  }
  // Those that are away are done without.
  if (said.length < 2) return own;
  throw new EndpointsDisagreeError(panel.chainId, 'finalized block');
}

/** The lower one of the blocks that two endpoints name, where the higher one has it, too. */
async function commonBlock(a: Named, b: Named): Promise<BlockHeader | undefined> {
  if (a.header.hash === b.header.hash) {
    return isSameBlock(a.header, b.header) ? a.header : undefined;
  }
  const [lower, higher] = a.header.number < b.header.number ? [a, b] : [b, a];
  const shown = await higher.view.within(WITNESS_TIMEOUT_MS).block(lower.header.number);
  return shown !== undefined && isSameBlock(shown, lower.header) ? lower.header : undefined;
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
