import { createHash } from 'node:crypto';
import { type ChainableCommander, ReplyError } from 'ioredis';
import { RedisUnavailableError } from '../../protocol/errors.js';
import type { SharedRedis } from './ledger-connections.js';

/** A Lua script, and its name for errors. */
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
 * Runs a script by its hash, and by its text if Redis does not know it. The script declares no keys, so it needs a
 * single primary; a Cluster would refuse it.
 *
 * @throws RedisUnavailableError if Redis does not answer or refuses: the script may have run.
 */
export function runScript(
  redis: SharedRedis,
  which: Script,
  args: readonly ScriptArgument[],
): Promise<ScriptReply> {
  return runKeyedScript(redis, which, [], args);
}

/** {@link runScript} for a script that declares its keys, all in one slot. */
export async function runKeyedScript(
  redis: SharedRedis,
  which: Script,
  keys: readonly string[],
  args: readonly ScriptArgument[],
): Promise<ScriptReply> {
  const { name, lua, sha } = which;
  const known = await runKnown(redis, which, keys, args);
  if (known !== undefined) return known.reply;
  // After a failover many calls find the script missing at once. One of them sends its text of about 25 kB.
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

/** By the hash of a script: resolves when the sending of its text has ended. */
const sendings = new WeakMap<SharedRedis, Map<string, Promise<void>>>();

function sentBy(redis: SharedRedis): Map<string, Promise<void>> {
  const known = sendings.get(redis) ?? new Map<string, Promise<void>>();
  sendings.set(redis, known);
  return known;
}

const nothing = (): void => undefined;

/** @returns `undefined` if Redis does not know the script: nothing was run. */
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
 * Runs commands in one MULTI. An error of one command is an error of the whole.
 *
 * @throws RedisUnavailableError
 */
export async function runTransaction(
  name: string,
  transaction: ChainableCommander,
): Promise<readonly unknown[]> {
  const results = await redisCall(name, transaction.exec());
  if (results === null)
    throw new RedisUnavailableError(name, 'Redis discarded the MULTI transaction');
  return results.map(([error, value]) => {
    if (error !== null) throw new RedisUnavailableError(name, error);
    return value;
  });
}

/** Turns every failure of a command into a RedisUnavailableError. */
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
