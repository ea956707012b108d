import {
  CannotAnswerError,
  ChainUnavailableError,
  EndpointsDisagreeError,
} from '../../protocol/errors.js';
import { type BlockHeader, isSameBlock } from './block.js';
import type { ChainView } from './chain-view.js';
import { isPresent } from './endpoint-health.js';
import { attempt } from './hedge.js';
import { type QuorumContext, statementOf } from './quorum.js';

const ENDPOINT_TIMEOUT_MS = 1000;
/** Final blocks of two healthy endpoints are not further apart; otherwise a third one is asked. */
const NEAR_BLOCKS = 8n;
/** If they are further apart, one is wrong, even where a chain finalizes many blocks at once. */
const FAR_BLOCKS = 128n;

/** The final block of one endpoint. */
interface Named {
  readonly view: ChainView;
  readonly header: BlockHeader;
}

/** `young`: the chain has no final block yet. `silent`: the endpoint is present and does not answer this. */
type Claim = Named | 'young' | 'silent' | 'absent';

/**
 * The newest block that cannot be replaced: never above the head. If there are two endpoints, both have to name the
 * same block, number and time. A third one decides where the first two differ, are far apart, or do not both answer.
 *
 * @param latest - the newest block of the view; nothing above it is final.
 * @returns `undefined` while the chain is too young to have one.
 * @throws ChainUnavailableError when no endpoint, or no second one, answers now.
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
    noteDisagreement(context, claims, common);
    claims.push(await secondClaim(context, third, latest));
    common = await newestCommon(claims, latest);
  }
  noteDisagreement(context, claims, common);
  const { newest, isUnsure } = common;
  if (newest !== undefined) return newest;
  if (claims.includes('young')) return undefined;
  const [named, another] = claims.filter(isNamed);
  if (another !== undefined && !isUnsure) {
    throw new EndpointsDisagreeError(context.chainId, 'finalized block');
  }
  // Absent endpoints are not required.
  if (named !== undefined && another === undefined && !claims.includes('silent')) {
    return named.header;
  }
  throw new ChainUnavailableError(context.chainId, 'finalized block');
}

function isNamed(claim: Claim): claim is Named {
  return typeof claim === 'object';
}

/** Whether two endpoints share a block that no other endpoint is further away from. */
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

function noteDisagreement(
  context: QuorumContext,
  claims: readonly Claim[],
  { newest, isUnsure }: Common,
): void {
  if (isUnsure || claims.filter(isNamed).length < 2) return;
  if (isWithin(FAR_BLOCKS, claims, newest)) return;
  const answers = claims
    .filter(isNamed)
    .map(({ view, header }) => statementOf(view, `block ${header.number} ${header.hash}`));
  context.onDisagreement('finalized block', answers);
}

interface Common {
  /** The newest block that two of them consider final, not above the head. */
  readonly newest: BlockHeader | undefined;
  /** Whether an endpoint did not show a block that would decide. */
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

/** The lower of two named blocks, if the endpoint of the higher one has it too. */
async function commonBlock(a: Named, b: Named): Promise<BlockHeader | undefined> {
  if (a.header.hash === b.header.hash) {
    return isSameBlock(a.header, b.header) ? a.header : undefined;
  }
  const [lower, higher] = a.header.number < b.header.number ? [a, b] : [b, a];
  const shown = await higher.view.within(ENDPOINT_TIMEOUT_MS).block(lower.header.number);
  return shown !== undefined && isSameBlock(shown, lower.header) ? lower.header : undefined;
}

/** A block above the head does not exist yet, so it is not final. */
async function ownClaim(
  context: QuorumContext,
  view: ChainView,
  latest: BlockHeader,
): Promise<Claim> {
  const done = await attempt(async (): Promise<Claim> => {
    const header = await view.finalizedBlock(latest);
    if (header === undefined) return 'young';
    // New blocks may have arrived between the two questions.
    if (header.number <= latest.number) return { view, header };
    if (header.number > (await view.latestBlock()).number) {
      const answers = [
        statementOf(view, `final block ${header.number}, above its own newest block`),
      ];
      context.onDisagreement('finalized block', answers);
    }
    return 'silent';
  });
  return done?.value ?? 'silent';
}

/** The first endpoint may not know this final block yet, so the lower one of both is compared. */
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
