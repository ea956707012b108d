import type { BlockHeader } from './block.js';
import { JointCalls } from './joint/joint-calls.js';
import type { RpcCaller } from './rpc/rpc-caller.js';

/** What the last probe and the calls since then have shown about one endpoint. */
export interface EndpointHealth {
  readonly endpoint: RpcCaller;
  /** Questions that may share one call of it. */
  readonly joint: JointCalls;
  /** Whether it answered the last probe. */
  isReachable: boolean | undefined;
  /** `false` is proof that it serves another chain. */
  isRightChain: boolean | undefined;
  /** The newest block it has shown, and when (milliseconds of `performance.now`). */
  head: BlockHeader | undefined;
  headSeenAt: number;
  /** Since when it shows this block number as its newest. */
  headSince: number;
  hasFinalizedTag: boolean | undefined;
  hasLogs: boolean | undefined;
  /** Probes in a row that were answered without logs. */
  refusedLogs: number;
  /** Blocks behind the best endpoint, measured at the same time. */
  lag: bigint;
  /** Whether it is so far behind, or has stood still for so long, that it has nothing to say of now. */
  isStuck: boolean;
  /** After a failed call it is the last choice until then (milliseconds of `performance.now`). */
  coolsUntil: number;
  /** Since when no call was answered; `undefined` after an answer. */
  failingSince: number | undefined;
  /** The least tip it takes, in wei, learned from a refusal. */
  leastTip: { readonly wei: bigint; readonly learnedAt: number } | undefined;
}

/**
 * Blocks an endpoint may be behind the best one and still be believed when it says no: what a healthy
 * node lags by chance.
 */
export const LAG_MAX_BLOCKS = 2n;

const COOLING_MS = 2000;
/** An endpoint that has failed for this long is left out where two are asked. */
const ABSENT_AFTER_MS = 1500;
/** A node that is behind and has shown the same block for this long is stuck. */
const STUCK_AFTER_MS = 4000;
/** A node that is behind and whose newest block is older than this is far from catching up. */
const OLD_HEAD_MS = 10_000;
/** What a refusal taught is forgotten after this long: it may have been a mistake. */
const TIP_KEPT_MS = 10_000;

export function newEndpointHealth(endpoint: RpcCaller): EndpointHealth {
  return {
    endpoint,
    joint: new JointCalls(endpoint),
    isReachable: undefined,
    isRightChain: undefined,
    head: undefined,
    headSeenAt: 0,
    headSince: 0,
    hasFinalizedTag: undefined,
    hasLogs: undefined,
    refusedLogs: 0,
    lag: 0n,
    isStuck: false,
    coolsUntil: 0,
    failingSince: undefined,
    leastTip: undefined,
  };
}

export function noteFailure(health: EndpointHealth): void {
  const now = performance.now();
  health.coolsUntil = now + COOLING_MS;
  health.failingSince ??= now;
}

export function noteAnswer(health: EndpointHealth): void {
  health.failingSince = undefined;
}

export function noteHead(health: EndpointHealth, head: BlockHeader): void {
  const now = performance.now();
  if (health.head?.number !== head.number) health.headSince = now;
  health.head = head;
  health.headSeenAt = now;
}

/** Compares endpoints that were asked for their newest block at the same time. */
export function compareHeads(measured: readonly EndpointHealth[]): void {
  let best: BlockHeader | undefined;
  for (const { head } of measured) {
    if (head !== undefined && (best === undefined || head.number > best.number)) best = head;
  }
  if (best === undefined) return;
  const isOld = ({ timestamp }: BlockHeader): boolean =>
    Date.now() - timestamp * 1000 > OLD_HEAD_MS;
  for (const health of measured) {
    const { head, headSeenAt, headSince } = health;
    if (head === undefined) continue;
    health.lag = best.number - head.number;
    const standsStill = headSeenAt - headSince >= STUCK_AFTER_MS;
    // What the others claim to have must not be enough to take a node out that keeps up with time.
    const isOutOfTime = isOld(head) && !isOld(best);
    health.isStuck = health.lag > LAG_MAX_BLOCKS && (standsStill || isOutOfTime);
  }
}

export function noteLeastTip(health: EndpointHealth, wei: bigint): void {
  health.leastTip = { wei, learnedAt: performance.now() };
}

/** The least tip an endpoint takes, in wei, as far as it has said so lately. */
export function leastTipOf({ leastTip }: EndpointHealth): bigint {
  if (leastTip === undefined || performance.now() - leastTip.learnedAt > TIP_KEPT_MS) return 0n;
  return leastTip.wei;
}

/** Whether an endpoint has answered lately and keeps up: it can be asked what another one has said. */
export function isPresent(health: EndpointHealth): boolean {
  const { isReachable, isRightChain, isStuck, failingSince } = health;
  if (isReachable === false || isRightChain === false || isStuck) return false;
  return failingSince === undefined || performance.now() - failingSince < ABSENT_AFTER_MS;
}

/**
 * Endpoints in the order to ask them: the operator's order, those that lag or failed just now last.
 * One on another chain is never asked.
 */
export function byPreference(all: readonly EndpointHealth[]): EndpointHealth[] {
  const now = performance.now();
  const penalty = (health: EndpointHealth): number =>
    (isPresent(health) ? 0 : 4) +
    (health.lag > LAG_MAX_BLOCKS ? 2 : 0) +
    (health.coolsUntil > now ? 1 : 0);
  return all
    .filter((health) => health.isRightChain !== false)
    .sort((a, b) => penalty(a) - penalty(b));
}
