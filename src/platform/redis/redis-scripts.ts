import { createHash } from 'node:crypto';
import { type ChainableCommander, ReplyError } from 'ioredis';
import { RedisUnavailableError } from '../../protocol/errors.js';
import type { SharedRedis } from './ledger-connections.js';

/** A Lua script and the name it goes by in errors. */
export interface Script {
  readonly name: string;
  readonly lua: string;
  readonly sha: string;
}

export function script(name: string, lua: string): Script {
  return { name, lua, sha: createHash('sha1').update(lua).digest('hex') };
}

export type ScriptArgument = string | number;
export type ScriptReply = string | number | null | readonly ScriptReply[];

/**
 * Runs a script by its hash, and with its text where Redis does not know it yet. It declares no keys, so a Cluster
 * would refuse it: for a Redis of one primary.
 *
 * @throws RedisUnavailableError when Redis does not answer or refuses: the script may have run.
 */
export function runScript(
  redis: SharedRedis,
  which: Script,
  args: readonly ScriptArgument[],
): Promise<ScriptReply> {
  return runKeyedScript(redis, which, [], args);
}

/** {@link runScript} for a script that declares its keys, all of one slot. */
export async function runKeyedScript(
  redis: SharedRedis,
  which: Script,
  keys: readonly string[],
  args: readonly ScriptArgument[],
): Promise<ScriptReply> {
  const { name, lua, sha } = which;
  const known = await runKnown(redis, which, keys, args);
  if (known !== undefined) return known.reply;
  // After a failover everything under way finds it missing at once. One sends the text, of some 25 kB.
  const sent = sentBy(redis);
  const sending = sent.get(sha);
  if (sending !== undefined) {
    await sending;
    const again = await runKnown(redis, which, keys, args);
    if (again !== undefined) return again.reply;
  }
  const reply = redisCall(
    name,
    redis.eval(lua, keys.length, ...keys, ...args) as Promise<ScriptReply>,
  );
  const over = reply.then(nothing, nothing).finally(() => {
    if (sent.get(sha) === over) sent.delete(sha);
  });
  sent.set(sha, over);
  return reply;
}

/** By the hash of a script: resolves when its text has been taken, or has not. */
const sendings = new WeakMap<SharedRedis, Map<string, Promise<void>>>();

function sentBy(redis: SharedRedis): Map<string, Promise<void>> {
  const known = sendings.get(redis) ?? new Map<string, Promise<void>>();
  sendings.set(redis, known);
  return known;
}

const nothing = (): void => undefined;

/** @returns `undefined` where Redis does not know the script: nothing was run. */
async function runKnown(
  redis: SharedRedis,
  { name, sha }: Script,
  keys: readonly string[],
  args: readonly ScriptArgument[],
): Promise<{ readonly reply: ScriptReply } | undefined> {
  try {
    return { reply: (await redis.evalsha(sha, keys.length, ...keys, ...args)) as ScriptReply };
  } catch (error) {
    if (isMissingScript(error)) return undefined;
    throw new RedisUnavailableError(name, error);
  }
}

/**
 * Runs commands in one MULTI. What one of them answers with an error is an error of the whole.
 *
 * @throws RedisUnavailableError
 */
export async function runTransaction(
  name: string,
  transaction: ChainableCommander,
): Promise<readonly unknown[]> {
  const results = await redisCall(name, transaction.exec());
  if (results === null) throw new RedisUnavailableError(name, 'the transaction was discarded');
  return results.map(([error, value]) => {
    if (error !== null) throw new RedisUnavailableError(name, error);
    return value;
  });
}

/** Turns every failure of a command into one the callers know. */
export async function redisCall<T>(name: string, reply: Promise<T>): Promise<T> {
  try {
    return await reply;
  } catch (error) {
    throw new RedisUnavailableError(name, error);
  }
}

function isMissingScript(error: unknown): boolean {
  return error instanceof ReplyError && (error as Error).message.startsWith('NOSCRIPT');
}
