import { type CallUnansweredError, ChainUnavailableError } from '../../protocol/errors.js';
import { delay } from '../concurrency/timing.js';
import type { ChainView } from './chain-view.js';
import { LAG_MAX_BLOCKS } from './endpoint-health.js';
import type { HeadsLook } from './heads.js';
import { attempt } from './hedge.js';

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

/** A second endpoint needs a moment for a block that the first one has. */
const ROUNDS = 3;
const ROUND_MS = 60;

/**
 * Judges something through the best endpoint that is near enough to the newest block.
 *
 * @param need - how near, by what the judgement says.
 * @throws CallUnansweredError when one answers, but not what a contract does.
 * @throws ChainUnavailableError when no endpoint is near enough, or answers.
 */
export async function judgeNearHead<T>(
  { chainId, views, measure, needsHead }: Bench,
  work: (view: ChainView) => Promise<T>,
  need: (value: T) => NeededHead,
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
      const done = await attempt(() => work(view), note);
      if (done === undefined) continue;
      const look = await looking;
      const { value } = done;
      const isKnown = look.newest > 0n || !needsHead;
      if (isKnown && (asked.length < 2 || isNearEnough(look, view, need(value)))) {
        return { value, newestBlock: look.newest };
      }
      isAnyBehind = true;
    }
    if (!isAnyBehind) break;
    await delay(ROUND_MS);
  }
  const [first] = unresponsive;
  if (first !== undefined) throw first;
  throw new ChainUnavailableError(chainId, 'what a payment is judged by');
}

function isNearEnough(look: HeadsLook, { health }: ChainView, need: NeededHead): boolean {
  if (need === 'any') return true;
  const behind = look.behind(health);
  return behind !== undefined && behind <= (need === 'newest' ? 0n : LAG_MAX_BLOCKS);
}
