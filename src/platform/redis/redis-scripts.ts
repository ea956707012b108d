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
  { name, lua, sha }: Script,
  keys: readonly string[],
  args: readonly ScriptArgument[],
): Promise<ScriptReply> {
  try {
    return (await redis.evalsha(sha, keys.length, ...keys, ...args)) as ScriptReply;
  } catch (error) {
    if (!isMissingScript(error)) throw new RedisUnavailableError(name, error);
  }
  return redisCall(name, redis.eval(lua, keys.length, ...keys, ...args) as Promise<ScriptReply>);
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
