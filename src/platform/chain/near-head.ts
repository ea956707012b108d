import { type CallUnansweredError, ChainUnavailableError } from '../../protocol/errors.js';
import { delay } from '../concurrency/timing.js';
import type { ChainView } from './chain-view.js';
import { type EndpointHealth, isPresent, LAG_MAX_BLOCKS } from './endpoint-health.js';
import type { HeadsLook } from './heads.js';
import { attempt, type Done } from './hedge.js';

/** How near to the newest block an endpoint must be for its answer to count. */
export type NeededHead =
  /** At the newest known block: for a valid payment. */
  | 'newest'
  /** No further behind than a healthy node: for a payment that the chain refuses. */
  | 'near'
  /** The result does not depend on the chain. */
  | 'any';

export interface EndpointSet {
  readonly chainId: number;
  /** In the order to ask them. */
  readonly views: () => readonly ChainView[];
  /** Reads the heads of all endpoints. */
  readonly measure: () => Promise<HeadsLook>;
  /** Whether no answer counts while no head is known. */
  readonly needsHead: boolean;
}

export interface NearHeadAnswer<T> {
  readonly value: T;
  /** Number of the newest known block when the verification began. */
  readonly newestBlock: bigint;
}

/**
 * Combines the answers of endpoints.
 *
 * @returns also whether they disagree, which a third one may decide.
 */
export type Join<T> = (replies: readonly T[]) => {
  readonly value: T;
  readonly hasDisagreement: boolean;
};

/** A second endpoint needs a moment for a block that the first one has. */
const ROUNDS = 3;
const ROUND_MS = 60;

/**
 * Verifies something through the best endpoint that is near enough to the newest block.
 *
 * @param need - how near, depending on the result.
 * @param join - combines the answers of two endpoints, if two are present. One of them has to be near enough.
 * @throws CallUnansweredError when an endpoint answers, but not for a contract's call; with a quorum, when two do.
 * @throws ChainUnavailableError when no endpoint is near enough, or answers.
 */
export async function verifyNearHead<T>(
  { chainId, views, measure, needsHead }: EndpointSet,
  work: (view: ChainView) => Promise<T>,
  need: (value: T) => NeededHead,
  join?: Join<T>,
): Promise<NearHeadAnswer<T>> {
  const unresponsive = new Map<EndpointHealth, CallUnansweredError>();
  const ask = (view: ChainView): Promise<Done<T>> =>
    attempt(
      () => work(view),
      (error) => unresponsive.set(view.health, error),
    );
  for (let round = 0; round < ROUNDS; round += 1) {
    const asked = views();
    let isAnyBehind = false;
    for (const view of asked) {
      const looking = measure();
      if (join !== undefined) askMute(view, asked, work);
      const verified = await (join === undefined
        ? askOne(view, ask)
        : askTwo([view, ...othersBeside(view, asked)], ask, join));
      if (verified === undefined) continue;
      const look = await looking;
      const { value, by } = verified;
      const isKnown = look.newest > 0n || !needsHead;
      const isNear = by.some((one) => isNearEnough(look, one, need(value)));
      if (isKnown && (asked.length < 2 || isNear)) return { value, newestBlock: look.newest };
      isAnyBehind = true;
    }
    if (!isAnyBehind) break;
    await delay(ROUND_MS);
  }
  const [first] = unresponsive.values();
  const counted = views().filter(countsForQuorum).length;
  const needed = join === undefined ? 1 : Math.min(2, counted);
  if (first !== undefined && unresponsive.size >= needed) throw first;
  throw new ChainUnavailableError(chainId, 'verification near the chain head');
}

/**
 * All present endpoints: one that is behind must not be excluded by another one's claim. One that has proved unable to
 * run calls does not count.
 */
function othersBeside(view: ChainView, asked: readonly ChainView[]): readonly ChainView[] {
  return asked.filter((one) => one.health !== view.health && countsForQuorum(one));
}

function countsForQuorum({ health }: ChainView): boolean {
  return isPresent(health) && !health.refusals.has('calls');
}

/** They are still asked, without waiting for the answer. */
function askMute<T>(
  view: ChainView,
  asked: readonly ChainView[],
  work: (view: ChainView) => Promise<T>,
): void {
  for (const one of asked) {
    const isMute = isPresent(one.health) && one.health.refusals.has('calls');
    if (one.health !== view.health && isMute) work(one).catch(() => undefined);
  }
}

interface EndpointAnswer<T> {
  readonly value: T;
  readonly by: readonly ChainView[];
}

async function askOne<T>(
  view: ChainView,
  ask: (view: ChainView) => Promise<Done<T>>,
): Promise<EndpointAnswer<T> | undefined> {
  const done = await ask(view);
  return done && { value: done.value, by: [view] };
}

/**
 * A third one is asked where the first two do not both answer, or disagree.
 *
 * @returns `undefined` when no two answer, although a second one is present.
 */
async function askTwo<T>(
  views: readonly ChainView[],
  ask: (view: ChainView) => Promise<Done<T>>,
  join: Join<T>,
): Promise<EndpointAnswer<T> | undefined> {
  const answersOf = async (some: readonly ChainView[]) => {
    const answers = await Promise.all(some.map(async (view) => ({ view, done: await ask(view) })));
    return answers.flatMap(({ view, done }) => (done ? [{ view, value: done.value }] : []));
  };
  const two = await answersOf(views.slice(0, 2));
  const isSettled = two.length === 2 && !join(two.map(({ value }) => value)).hasDisagreement;
  const replies = isSettled ? two : [...two, ...(await answersOf(views.slice(2, 3)))];
  const by = replies.map(({ view }) => view);
  const [only, another] = replies;
  if (only === undefined) return undefined;
  if (another !== undefined) return { value: join(replies.map(({ value }) => value)).value, by };
  // Another endpoint may have proved only now that it is absent or cannot run calls.
  const isMissing = views.slice(0, 3).some((one) => one !== only.view && countsForQuorum(one));
  return isMissing ? undefined : { value: only.value, by };
}

function isNearEnough(look: HeadsLook, { health }: ChainView, need: NeededHead): boolean {
  if (need === 'any') return true;
  const behind = look.behind(health);
  return behind !== undefined && behind <= (need === 'newest' ? 0n : LAG_MAX_BLOCKS);
}
