import { type CallUnansweredError, ChainUnavailableError } from '../../protocol/errors.js';
import { delay } from '../concurrency/timing.js';
import type { ChainView } from './chain-view.js';
import { isPresent, LAG_MAX_BLOCKS } from './endpoint-health.js';
import type { HeadsLook } from './heads.js';
import { attempt, type Done } from './hedge.js';

/** How near to the newest block an endpoint has to be for what it said to count. */
export type NeededHead =
  /** At the newest block any endpoint has shown: a payment is good. */
  | 'newest'
  /** Not further behind than healthy nodes are by chance: a payment is refused by the chain. */
  | 'near'
  /** It does not depend on the chain. */
  | 'any';

export interface Bench {
  readonly chainId: number;
  /** In the order to ask them. */
  readonly views: () => readonly ChainView[];
  /** Asks all endpoints for their heads. */
  readonly measure: () => Promise<HeadsLook>;
  /** Whether nothing counts as long as no head is known. */
  readonly needsHead: boolean;
}

export interface Judged<T> {
  readonly value: T;
  /** Number of the newest block any endpoint had shown when the judgement began. */
  readonly newestBlock: bigint;
}

/**
 * What endpoints say together.
 *
 * @returns also whether they contradict each other, which a third one may decide.
 */
export type Join<T> = (said: readonly T[]) => {
  readonly value: T;
  readonly isContradicted: boolean;
};

/** A second endpoint needs a moment for a block that the first one has. */
const ROUNDS = 3;
const ROUND_MS = 60;

/**
 * Judges something through the best endpoint that is near enough to the newest block.
 *
 * @param need - how near, by what the judgement says.
 * @param join - where two endpoints have to say so, if two are there: what both of them say. One of them has to be
 *   near enough.
 * @throws CallUnansweredError when one answers, but not what a contract does.
 * @throws ChainUnavailableError when no endpoint is near enough, or answers.
 */
export async function judgeNearHead<T>(
  { chainId, views, measure, needsHead }: Bench,
  work: (view: ChainView) => Promise<T>,
  need: (value: T) => NeededHead,
  join?: Join<T>,
): Promise<Judged<T>> {
  const unresponsive: CallUnansweredError[] = [];
  const note = (error: CallUnansweredError): void => {
    unresponsive.push(error);
  };
  for (let round = 0; round < ROUNDS; round += 1) {
    const asked = views();
    let isAnyBehind = false;
    for (const view of asked) {
      const looking = measure();
      const others = join === undefined ? [] : othersBeside(view, asked);
      if (join !== undefined) askMute(view, asked, work);
      const ask = (one: ChainView): Promise<Done<T>> => attempt(() => work(one), note);
      const judged = await (join === undefined ? ask(view) : askTwo(view, others, ask, join));
      if (judged === undefined) continue;
      const look = await looking;
      const { value } = judged;
      const isKnown = look.newest > 0n || !needsHead;
      const by = [view, ...others.slice(0, 1)];
      const isNear = by.some((one) => isNearEnough(look, one, need(value)));
      if (isKnown && (asked.length < 2 || isNear)) return { value, newestBlock: look.newest };
      isAnyBehind = true;
    }
    if (!isAnyBehind) break;
    await delay(ROUND_MS);
  }
  const [first] = unresponsive;
  if (first !== undefined) throw first;
  throw new ChainUnavailableError(chainId, 'what a payment is judged by');
}

/**
 * All that are there: one that is behind must not be left out for what another one claims to have. One that has proved
 * that it cannot run calls is no witness.
 */
function othersBeside(view: ChainView, asked: readonly ChainView[]): readonly ChainView[] {
  return asked.filter(
    ({ health }) => health !== view.health && isPresent(health) && !health.refusals.has('calls'),
  );
}

/** They are asked on, and nobody waits for them. */
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

/** @returns `undefined` when it, or a second one that is there, does not answer. */
async function askTwo<T>(
  view: ChainView,
  [second, third]: readonly ChainView[],
  ask: (view: ChainView) => Promise<Done<T>>,
  join: Join<T>,
): Promise<Done<T>> {
  const [own, other] = await Promise.all([ask(view), second && ask(second)]);
  if (own === undefined || second === undefined) return own;
  // It may have turned out only now that it is away, or cannot run calls at all.
  if (other === undefined) {
    const isWitness = isPresent(second.health) && !second.health.refusals.has('calls');
    return isWitness ? undefined : own;
  }
  const both = join([own.value, other.value]);
  const decisive = both.isContradicted && third !== undefined ? await ask(third) : undefined;
  return decisive === undefined ? both : join([own.value, other.value, decisive.value]);
}

function isNearEnough(look: HeadsLook, { health }: ChainView, need: NeededHead): boolean {
  if (need === 'any') return true;
  const behind = look.behind(health);
  return behind !== undefined && behind <= (need === 'newest' ? 0n : LAG_MAX_BLOCKS);
}
