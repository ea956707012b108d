import { ReplyError } from 'ioredis';
import { RedisUnavailableError } from '../../protocol/errors.js';
import { TurnEnd } from '../concurrency/turn-end.js';
import type { SharedRedis } from './ledger-connections.js';
import {
  runKeyedScript,
  type Script,
  script,
  type ScriptArgument,
  type ScriptReply,
} from './redis-scripts.js';

/** So many runs share a call at most: Redis does nothing else meanwhile. */
const RUNS_MAX = 32;

export interface ScriptRun {
  readonly script: Script;
  readonly keys: readonly string[];
  readonly args: readonly ScriptArgument[];
}

interface Waiting {
  readonly run: ScriptRun;
  readonly resolve: (reply: ScriptReply) => void;
  readonly reject: (error: unknown) => void;
}

interface Group {
  readonly redis: SharedRedis;
  readonly waiting: Waiting[];
}

/**
 * Runs scripts as `runKeyedScript` does. Runs of one script, on keys of one slot, that come in one turn of the event
 * loop travel as one command. They run one after the other, and what one of them fails with is its own.
 *
 * Runs of different scripts may overtake each other.
 */
export class ScriptGroups {
  /** By slot and script, in the order in which the first of each came. */
  readonly #groups = new Map<string, Group>();
  readonly #turnEnd = new TurnEnd(() => {
    this.#flush();
  });

  /**
   * @param slot - the same for all keys that are in one slot.
   * @throws RedisUnavailableError when Redis does not answer or refuses: the script may have run.
   */
  run(redis: SharedRedis, slot: string, run: ScriptRun): Promise<ScriptReply> {
    const name = `${run.script.sha} ${slot}`;
    const group = this.#groups.get(name) ?? { redis, waiting: [] };
    this.#groups.set(name, group);
    this.#turnEnd.schedule();
    return new Promise((resolve, reject) => {
      group.waiting.push({ run, resolve, reject });
    });
  }

  #flush(): void {
    const groups = [...this.#groups.values()];
    this.#groups.clear();
    for (const { redis, waiting } of groups) {
      for (let start = 0; start < waiting.length; start += RUNS_MAX) {
        void runAll(redis, waiting.slice(start, start + RUNS_MAX));
      }
    }
  }
}

async function runAll(redis: SharedRedis, waiting: readonly Waiting[]): Promise<void> {
  try {
    const replies = await repliesOf(
      redis,
      waiting.map(({ run }) => run),
    );
    waiting.forEach(({ run, resolve, reject }, index) => {
      const reply = replies[index];
      if (reply === undefined) reject(new RedisUnavailableError(run.script.name, 'no reply'));
      else if (reply instanceof RedisUnavailableError) reject(reply);
      else resolve(reply);
    });
  } catch (error) {
    for (const { reject } of waiting) reject(error);
  }
}

async function repliesOf(
  redis: SharedRedis,
  runs: readonly ScriptRun[],
): Promise<readonly (ScriptReply | RedisUnavailableError)[]> {
  const [first] = runs;
  if (first === undefined) return [];
  if (runs.length === 1) {
    return [await runKeyedScript(redis, first.script, first.keys, first.args)];
  }
  const { name } = first.script;
  const keys = runs.flatMap((run) => run.keys);
  const args = runs.flatMap((run) => [run.keys.length, run.args.length, ...run.args]);
  const replies = await runKeyedScript(redis, groupScriptOf(first.script), keys, args);
  if (!Array.isArray(replies)) throw new TypeError(`${name} did not answer with a list`);
  return (replies as readonly (readonly ScriptReply[])[]).map(([isAnswer, reply = null]) =>
    isAnswer === 1 ? reply : new RedisUnavailableError(name, new ScriptError(String(reply))),
  );
}

const ScriptError = ReplyError as new (message: string) => Error;

const groupScripts = new Map<string, Script>();

function groupScriptOf(one: Script): Script {
  const known = groupScripts.get(one.sha) ?? script(one.name, groupLua(one.lua));
  groupScripts.set(one.sha, known);
  return known;
}

/**
 * The script as a function, and a loop around it. For each run ARGV has the number of its keys, that of its arguments,
 * and these; KEYS has the keys of all. Answers {1, reply} or {0, error} for each run.
 *
 * What a server says that is no primary is the answer of the whole: the connection leaves it for that
 * (`leavingFor`), and reads nothing inside of answers.
 */
export function groupLua(lua: string): string {
  return `local function run(KEYS, ARGV)
${lua}
end
local function part(list, from, count)
  local own = {}
  for i = 1, count do own[i] = list[from + i] end
  return own
end
local replies, keys_done, at = {}, 0, 1
while ARGV[at] do
  local keys, args = tonumber(ARGV[at]), tonumber(ARGV[at + 1])
  local ran, reply = pcall(run, part(KEYS, keys_done, keys), part(ARGV, at + 1, args))
  keys_done, at = keys_done + keys, at + 2 + args
  local failure
  if not ran then
    failure = type(reply) == 'table' and reply.err or tostring(reply)
  elseif type(reply) == 'table' and reply.err then
    failure = reply.err
  end
  if failure and string.find(failure, '^READONLY ') then return redis.error_reply(failure) end
  replies[#replies + 1] = failure and { 0, failure } or { 1, reply }
end
return replies
`;
}
