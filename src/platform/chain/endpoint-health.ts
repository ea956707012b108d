import type { Address, Hex } from 'viem';
import { CallNotSentError } from '../../protocol/errors.js';
import { BatchCalls } from './batch-call/batch-calls.js';
import type { BlockHeader } from './block.js';
import { CodeConduct } from './code-conduct.js';
import { type Ability, Refusals } from './refusals.js';
import type { RpcCaller } from './rpc/rpc-caller.js';
import { isRateLimit } from './rpc/rpc-classes.js';
import type { RpcError, RpcOutcome } from './rpc/rpc-outcome.js';
import { SimulationSupport } from './simulation-support.js';

/** The state of one endpoint by its last probe and the calls since then. */
export interface EndpointHealth {
  readonly endpoint: RpcCaller;
  /** Batch calls of this endpoint. */
  readonly joint: BatchCalls;
  /** Contracts that this endpoint has shown as deployed. */
  readonly contracts: ContractPresence;
  /** Whether it answered the last probe. */
  isReachable: boolean | undefined;
  /** `false` is proof that it serves another chain. */
  isRightChain: boolean | undefined;
  /** Its newest confirmed block. */
  head: BlockHeader | undefined;
  /** Its newest block, confirmed or not, and the time of that answer (milliseconds of `performance.now`). */
  shown: BlockHeader | undefined;
  headSeenAt: number;
  /** The time since which it shows this number as its newest block. */
  headSince: number;
  /** Milliseconds between its newest blocks, by their headers. */
  blockTimeMs: number | undefined;
  /** Abilities that it has proved to lack. */
  readonly refusals: Refusals;
  /** Its recent blocks, by hash: it must be able to read their state. */
  readonly blocks: Map<Hex, bigint>;
  hasFinalizedTag: boolean | undefined;
  /** Consecutive probes that were answered, except for the `finalized` tag. */
  silentTags: number;
  hasLogs: boolean | undefined;
  /** Consecutive probes that were answered without logs. */
  refusedLogs: number;
  /** Blocks behind the best endpoint, measured at the same time. */
  lag: bigint;
  /** Whether it is so far behind, or has stood still for so long, that it cannot say anything about now. */
  isStuck: boolean;
  /** After a failed call it is the last choice until this time (milliseconds of `performance.now`). */
  coolsUntil: number;
  /** The time since which no call was answered; `undefined` after an answer. */
  failingSince: number | undefined;
  /** The minimum tip it accepts, in wei, learned from a refusal. */
  leastTip: { readonly wei: bigint; readonly learnedAt: number } | undefined;
}

/**
 * A refusal from an endpoint is believed if it is at most this many blocks behind the best one; a healthy node may lag
 * by this much.
 */
export const LAG_MAX_BLOCKS = 2n;

const COOLING_MS = 2000;
/** An endpoint that has failed for this long is not part of a quorum. */
const ABSENT_AFTER_MS = 1500;
/** A lagging node that has shown the same block for this long, and for this many block times, is stuck. */
const STUCK_AFTER_MS = 4000;
/** A lagging node whose newest block is older than this, and than this many block times, will not catch up soon. */
const OLD_HEAD_MS = 10_000;
/** Validators miss their turns, so between two blocks of a healthy chain this many block times may pass. */
const SILENT_BLOCKS = 4;
/** The assumed block time of a chain before a node has shown it. */
const UNKNOWN_BLOCK_TIME_MS = 15_000;
/** Limit of the learned block time, so that no header makes a node wait longer. */
const BLOCK_TIME_MOST_MS = 60_000;
const BLOCKS_KEPT = 128;
/**
 * Blocks behind its head whose state every full node has (geth 128). A refusal for an older block says nothing about
 * the endpoint.
 */
const RECENT_BLOCKS = 100n;
/** A learned minimum expires after this time, because it may have been a mistake. */
const TIP_KEPT_MS = 10_000;
/**
 * A named minimum tip that later blocks confirmed is kept longer, because the endpoint no longer names it while it
 * accepts the tip.
 */
const NAMED_TIP_KEPT_MS = 60_000;

export function newEndpointHealth(
  endpoint: RpcCaller,
  onAbility: (ability: Ability, isAnswered: boolean) => void = () => undefined,
): EndpointHealth {
  return {
    endpoint,
    refusals: new Refusals(onAbility),
    blocks: new Map(),
    joint: new BatchCalls(endpoint),
    contracts: new ContractPresence(),
    isReachable: undefined,
    isRightChain: undefined,
    head: undefined,
    shown: undefined,
    headSeenAt: 0,
    headSince: 0,
    blockTimeMs: undefined,
    hasFinalizedTag: undefined,
    silentTags: 0,
    hasLogs: undefined,
    refusedLogs: 0,
    lag: 0n,
    isStuck: false,
    coolsUntil: 0,
    failingSince: undefined,
    leastTip: undefined,
  };
}

/** @throws CallNotSentError where the endpoint was not asked: it has not failed. */
export async function ask(
  { endpoint }: EndpointHealth,
  chainId: number,
  ...question: Parameters<RpcCaller['request']>
): Promise<RpcOutcome> {
  const answer = await endpoint.request(...question);
  if (answer.kind === 'silent' && answer.cause === 'not_sent') {
    throw new CallNotSentError(chainId, question[0]);
  }
  return answer;
}

export function noteFailure(health: EndpointHealth): void {
  const now = performance.now();
  health.coolsUntil = now + COOLING_MS;
  health.failingSince ??= now;
}

export function noteAnswer(health: EndpointHealth): void {
  health.failingSince = undefined;
}

/** Notes a block that it has shown, newest or not. */
export function noteBlock({ blocks }: EndpointHealth, { hash, number }: BlockHeader): void {
  blocks.delete(hash);
  blocks.set(hash, number);
  const [oldest] = blocks.keys();
  if (oldest !== undefined && blocks.size > BLOCKS_KEPT) blocks.delete(oldest);
}

/** Whether a JSON-RPC block parameter is the hash of a recent block that this endpoint has shown itself. */
export function isAtShownBlock(point: unknown, health: EndpointHealth): boolean {
  if (typeof point !== 'object' || point === null || !('blockHash' in point)) return false;
  const number = health.blocks.get(point.blockHash as Hex);
  return number !== undefined && isRecent(number, health);
}

/** Whether an endpoint must have the block of this number, by its own newest one. */
export function isRecent(number: bigint, { shown }: EndpointHealth): boolean {
  return shown !== undefined && number <= shown.number && shown.number - number <= RECENT_BLOCKS;
}

/** @returns whether the endpoint has now proved that it lacks the ability for this question. */
export function noteOutcome(
  { refusals, shown }: EndpointHealth,
  ability: Ability | undefined,
  outcome: RpcOutcome,
): boolean {
  if (ability === undefined) return false;
  if (outcome.kind === 'result') refusals.answered(ability);
  else if (isProof(ability, outcome)) refusals.refused(ability, shown?.number ?? 0n);
  return refusals.has(ability);
}

/** A result without the requested value counts as no answer. */
export const UNREADABLE: RpcOutcome = { kind: 'silent', cause: 'malformed' };

/**
 * Whether a missing answer counts towards the proof that an endpoint lacks this ability. Receipts, blocks and states
 * decide success and failure: if silence and limits counted there, an attacker who keeps one endpoint busy could make
 * the other one be believed alone. Calls are only checks before money is spent.
 */
function isProof(ability: Ability, outcome: Exclude<RpcOutcome, { kind: 'result' }>): boolean {
  if (outcome.kind === 'error') return ability === 'calls' || !isBusy(outcome.error);
  const { cause } = outcome;
  if (cause === 'not_sent' || cause === 'wrong_chain') return false;
  // An answer that is not JSON-RPC may come from a busy gateway.
  return ability === 'calls' || outcome === UNREADABLE;
}

/**
 * Error codes of geth for calls behind long (-32003) or slow (-32002) answers of a batch, and of gateways that time out
 * (30).
 */
const BUSY: ReadonlySet<number> = new Set([-32_003, -32_002, 30]);

const isBusy = (error: RpcError): boolean => isRateLimit(error) || BUSY.has(error.code);

/** The newest block that it claims; other endpoints have to confirm it. */
export function noteHead(health: EndpointHealth, head: BlockHeader): void {
  const now = performance.now();
  if (health.shown?.number !== head.number) health.headSince = now;
  health.shown = head;
  health.headSeenAt = now;
}

/** Learns the block time from two of its headers. */
export function noteBlockTime(
  health: EndpointHealth,
  older: BlockHeader,
  newer: BlockHeader,
): void {
  const blocks = Number(newer.number - older.number);
  if (blocks <= 0) return;
  const perBlock = ((newer.timestamp - older.timestamp) * 1000) / blocks;
  health.blockTimeMs = Math.min(Math.max(perBlock, 0), BLOCK_TIME_MOST_MS);
}

/**
 * Compares endpoints that were asked for their newest block at the same time. Whether one is stuck follows from its own
 * blocks and pace, so that claims of others cannot exclude a node that keeps up with time.
 */
export function compareHeads(measured: readonly EndpointHealth[]): void {
  const best = newestOf(measured.map(({ head }) => head));
  const claimed = newestOf(measured.map(({ shown }) => shown));
  for (const health of measured) {
    const { head, shown } = health;
    if (head !== undefined && best !== undefined) health.lag = best.number - head.number;
    if (shown === undefined || claimed === undefined) continue;
    const isBehind = claimed.number - shown.number > LAG_MAX_BLOCKS;
    health.isStuck = isBehind && (standsStill(health) || isOutOfTime(health, claimed));
  }
}

function newestOf(heads: readonly (BlockHeader | undefined)[]): BlockHeader | undefined {
  return heads.reduce(
    (best, head) => (head !== undefined && head.number > (best?.number ?? -1n) ? head : best),
    undefined,
  );
}

function standsStill(health: EndpointHealth): boolean {
  return health.headSeenAt - health.headSince >= toleranceMs(health, STUCK_AFTER_MS);
}

function isOutOfTime(health: EndpointHealth, claimed: BlockHeader): boolean {
  const mostMs = toleranceMs(health, OLD_HEAD_MS);
  const isOld = (head: BlockHeader): boolean => Date.now() - head.timestamp * 1000 > mostMs;
  return health.shown !== undefined && isOld(health.shown) && !isOld(claimed);
}

/** By the pace of its own chain, which a claim of another node must not shorten. */
function toleranceMs(
  { blockTimeMs = UNKNOWN_BLOCK_TIME_MS }: EndpointHealth,
  leastMs: number,
): number {
  return Math.max(leastMs, SILENT_BLOCKS * blockTimeMs);
}

export function noteLeastTip(health: EndpointHealth, wei: bigint): void {
  health.leastTip = { wei, learnedAt: performance.now() };
}

/** The minimum tip that an endpoint accepts, in wei, as far as it said so recently. */
export function leastTipOf({ leastTip }: EndpointHealth): bigint {
  return tipWithin(TIP_KEPT_MS, leastTip);
}

/** The same with the longer time, for a minimum that later blocks confirmed. */
export function namedTipOf({ leastTip }: EndpointHealth): bigint {
  return tipWithin(NAMED_TIP_KEPT_MS, leastTip);
}

function tipWithin(ms: number, leastTip: EndpointHealth['leastTip']): bigint {
  if (leastTip === undefined || performance.now() - leastTip.learnedAt > ms) return 0n;
  return leastTip.wei;
}

/** Whether an endpoint has answered recently and keeps up, so that it can confirm another one's answer. */
export function isPresent(health: EndpointHealth): boolean {
  const { isReachable, isRightChain, isStuck, failingSince } = health;
  if (isReachable === false || isRightChain === false || isStuck) return false;
  return failingSince === undefined || performance.now() - failingSince < ABSENT_AFTER_MS;
}

/**
 * Endpoints in the order to ask them: the operator's order, with endpoints last that lag, lack an ability or failed
 * just now. One on another chain is never asked.
 */
export function byPreference(all: readonly EndpointHealth[]): EndpointHealth[] {
  const now = performance.now();
  const penalty = (health: EndpointHealth): number =>
    (isPresent(health) ? 0 : 8) +
    (health.lag > LAG_MAX_BLOCKS ? 4 : 0) +
    (health.refusals.proved.length > 0 ? 2 : 0) +
    (health.coolsUntil > now ? 1 : 0);
  return all
    .filter((health) => health.isRightChain !== false)
    .sort((a, b) => penalty(a) - penalty(b));
}

/** As the reference facilitator: a yes is kept for 15 minutes, at most 4096 of them; a no is not kept. */
const KEPT_MS = 15 * 60_000;
const KEPT_MAX = 4096;

/**
 * Remembers which addresses have code, and its gas use, as one endpoint shows it: one endpoint must not slow down calls
 * through another one.
 */
class ContractPresence {
  readonly conduct = new CodeConduct();
  readonly simulation = new SimulationSupport();
  readonly #keptUntil = new Map<Address, number>();

  async isContract(address: Address, look: () => Promise<boolean>): Promise<boolean> {
    const now = performance.now();
    if ((this.#keptUntil.get(address) ?? 0) > now) return true;
    const isPresent = await look();
    if (isPresent) this.#keep(address, now);
    else this.#keptUntil.delete(address);
    return isPresent;
  }

  #keep(address: Address, now: number): void {
    if (this.#keptUntil.size >= KEPT_MAX) {
      for (const [kept, until] of this.#keptUntil) {
        if (until <= now) this.#keptUntil.delete(kept);
      }
    }
    if (this.#keptUntil.size < KEPT_MAX) this.#keptUntil.set(address, now + KEPT_MS);
  }
}
