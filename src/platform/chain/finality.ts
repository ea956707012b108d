import {
  CannotAnswerError,
  ChainUnavailableError,
  EndpointsDisagreeError,
} from '../../protocol/errors.js';
import { type BlockHeader, isSameBlock } from './block.js';
import type { ChainView } from './chain-view.js';
import { isPresent } from './endpoint-health.js';
import { attempt } from './hedge.js';
import type { QuorumContext } from './quorum.js';

const ENDPOINT_TIMEOUT_MS = 1000;
/** Two endpoints that keep up name final blocks no further apart; a third one is asked where they do. */
const NEAR_BLOCKS = 8n;
/** Further apart one of them is wrong, also where a chain finalizes many blocks at once. */
const FAR_BLOCKS = 128n;

/** The final block of one endpoint. */
interface Named {
  readonly view: ChainView;
  readonly header: BlockHeader;
}

/** `young`: it has no final block yet. `silent`: it is there, and does not say. */
type Claim = Named | 'young' | 'silent' | 'absent';

/**
 * The newest block that cannot be replaced any more: never above the head, and where there are two
 * endpoints both have to say so of the same block, with its number and its time. A third one
 * decides where the first two differ, are far apart, or do not both say.
 *
 * @param latest - the newest block of the view; nothing above it is final.
 * @returns `undefined` while the chain is too young to have one.
 * @throws ChainUnavailableError when no endpoint, or no second one, answers just now.
 * @throws EndpointsDisagreeError when no two of them name the same block.
 */
export async function agreeOnFinalized(
  context: QuorumContext,
  view: ChainView,
  latest: BlockHeader,
): Promise<BlockHeader | undefined> {
  const isOther = ({ health }: ChainView): boolean => health !== view.health && isPresent(health);
  const [second, third] = context.views.filter(isOther);
  const claims = await Promise.all([
    ownClaim(context, view, latest),
    ...(second === undefined ? [] : [secondClaim(context, second, latest)]),
  ]);
  let common = await newestCommon(claims, latest);
  if (third !== undefined && !isWithin(NEAR_BLOCKS, claims, common.newest)) {
    noteContradiction(context, claims, common);
    claims.push(await secondClaim(context, third, latest));
    common = await newestCommon(claims, latest);
  }
  noteContradiction(context, claims, common);
  const { newest, isUnsure } = common;
  if (newest !== undefined) return newest;
  if (claims.includes('young')) return undefined;
  const [named, another] = claims.filter(isNamed);
  if (another !== undefined && !isUnsure) {
    throw new EndpointsDisagreeError(context.chainId, 'finalized block');
  }
  // Those that are away are done without.
  if (named !== undefined && another === undefined && !claims.includes('silent')) {
    return named.header;
  }
  throw new ChainUnavailableError(context.chainId, 'finalized block');
}

function isNamed(claim: Claim): claim is Named {
  return typeof claim === 'object';
}

/** Whether two have a block in common that no other one is further away from. */
function isWithin(
  blocks: bigint,
  claims: readonly Claim[],
  newest: BlockHeader | undefined,
): boolean {
  if (newest === undefined) return false;
  const numbers = claims.filter(isNamed).map(({ header }) => header.number);
  return numbers.every(
    (number) => number - newest.number <= blocks && newest.number - number <= blocks,
  );
}

function noteContradiction(
  context: QuorumContext,
  claims: readonly Claim[],
  { newest, isUnsure }: Common,
): void {
  if (isUnsure || claims.filter(isNamed).length < 2) return;
  if (!isWithin(FAR_BLOCKS, claims, newest)) context.onDisagreement('finalized block');
}

interface Common {
  /** The newest block that two of them hold final, not above the head. */
  readonly newest: BlockHeader | undefined;
  /** Whether one did not show what would decide. */
  readonly isUnsure: boolean;
}

async function newestCommon(claims: readonly Claim[], latest: BlockHeader): Promise<Common> {
  const named = claims.filter(isNamed);
  const pairs = named.flatMap((a, index) => named.slice(index + 1).map((b) => [a, b] as const));
  const blocks = await Promise.all(pairs.map(([a, b]) => attempt(() => commonBlock(a, b))));
  const newest = blocks.reduce<BlockHeader | undefined>((best, done) => {
    const block = done?.value;
    if (block === undefined || block.number > latest.number) return best;
    return best === undefined || block.number > best.number ? block : best;
  }, undefined);
  return { newest, isUnsure: blocks.includes(undefined) };
}

/** The lower one of the blocks that two endpoints name, where the higher one has it, too. */
async function commonBlock(a: Named, b: Named): Promise<BlockHeader | undefined> {
  if (a.header.hash === b.header.hash) {
    return isSameBlock(a.header, b.header) ? a.header : undefined;
  }
  const [lower, higher] = a.header.number < b.header.number ? [a, b] : [b, a];
  const shown = await higher.view.within(ENDPOINT_TIMEOUT_MS).block(lower.header.number);
  return shown !== undefined && isSameBlock(shown, lower.header) ? lower.header : undefined;
}

/** A block above the head is not final, it is not even there. */
async function ownClaim(
  context: QuorumContext,
  view: ChainView,
  latest: BlockHeader,
): Promise<Claim> {
  const done = await attempt(async (): Promise<Claim> => {
    const header = await view.finalizedBlock(latest);
    if (header === undefined) return 'young';
    // Blocks may have come between the two questions.
    if (header.number <= latest.number) return { view, header };
    if (header.number > (await view.latestBlock()).number)
      context.onDisagreement('finalized block');
    return 'silent';
  });
  return done?.value ?? 'silent';
}

/** The first endpoint may not know its final block yet: the lower one of both is compared. */
async function secondClaim(
  context: QuorumContext,
  second: ChainView,
  latest: BlockHeader,
): Promise<Claim> {
  try {
    const header = await second.within(ENDPOINT_TIMEOUT_MS).finalizedBlock(latest);
    return header === undefined ? 'young' : { view: second, header };
  } catch (error) {
    if (!(error instanceof ChainUnavailableError)) throw error;
    if (error instanceof CannotAnswerError) return 'absent';
    context.onMissingEndpoint();
    return isPresent(second.health) ? 'silent' : 'absent';
  }
}
