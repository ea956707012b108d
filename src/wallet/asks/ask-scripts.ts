import { script } from '../../platform/redis/redis-scripts.js';
import { PRELUDE } from '../budget/budget-scripts.js';

/**
 * The steps of a request for approval, each atomic. Texts are those of {@link AskTexts}; a charge uses one up in
 * `RESERVE`.
 */

/**
 * Asks the owner; a request for the same intent is replaced.
 *
 * | ARGV | |
 * |---|---|
 * | 1 wallet, 2 policy revision | |
 * | 3 key of the intent's ask, 4 the id it has | 4 empty: none |
 * | 5 id, 6 text, 7 until, 8 life | of the new ask, seconds |
 * | 9 now, 10 most asks that are open | |
 *
 * Replies `ok`, `locked`, `changed` (the rules changed), `exists` (another request was first) or `many`.
 */
export const ASK = script(
  'wallet_ask',
  PRELUDE +
    String.raw`
local wallet, list = ARGV[1], P .. 'al:' .. ARGV[1]
if not ready_as(wallet) then return 'locked' end
if redis.call('HGET', P .. 'w:' .. wallet, 'rev') ~= ARGV[2] then return 'changed' end
if (redis.call('GET', ARGV[3]) or '') ~= ARGV[4] then return 'exists' end
redis.call('ZREMRANGEBYSCORE', list, '-inf', ARGV[9])
if ARGV[4] ~= '' then
  local old = P .. 'a:' .. ARGV[4]
  -- What the owner said no to goes on being counted: else an agent could ask without end.
  if string.sub(redis.call('GET', old) or '', 1, 1) ~= 'd' then
    redis.call('DEL', old)
    redis.call('ZREM', list, ARGV[4])
  end
end
if redis.call('ZCARD', list) >= tonumber(ARGV[10]) then return 'many' end
redis.call('SET', P .. 'a:' .. ARGV[5], ARGV[6], 'EX', ARGV[8])
redis.call('SET', ARGV[3], ARGV[5], 'EX', ARGV[8])
redis.call('ZADD', list, ARGV[7], ARGV[5])
return 'ok'
`,
);

/**
 * Stores the owner's answer after the journal. ARGV: wallet, id, text, and the policy revision of an approval (empty: a
 * refusal). Replies `ok`, `locked`, `changed`, `gone`, `used` or `denied`.
 */
export const ANSWER = script(
  'wallet_answer',
  PRELUDE +
    String.raw`
local key = P .. 'a:' .. ARGV[2]
if not ready_as(ARGV[1]) then return 'locked' end
local state = string.sub(redis.call('GET', key) or '', 1, 1)
if state == '' then return 'gone' end
if state == 'u' then return 'used' end
if ARGV[4] ~= '' then
  if state == 'd' then return 'denied' end
  if redis.call('HGET', P .. 'w:' .. ARGV[1], 'rev') ~= ARGV[4] then return 'changed' end
end
redis.call('SET', key, ARGV[3], 'KEEPTTL')
return 'ok'
`,
);

/**
 * Restores the owner's answers and their results after a loss. ARGV: generation, wallet, then per answer id, key of the
 * intent's ask, text, until, life. Replies 0 when Redis was lost again meanwhile.
 */
export const RESTORE_ANSWERS = script(
  'wallet_restore_answers',
  PRELUDE +
    String.raw`
if generation() ~= ARGV[1] then return 0 end
local RANK = { w = 0, a = 1, d = 2, u = 3 }
local function rank(text) return RANK[string.sub(text, 1, 1)] or -1 end
for at = 3, #ARGV, 5 do
  local id, index, text = ARGV[at], ARGV[at + 1], ARGV[at + 2]
  local key = P .. 'a:' .. id
  local stored, current = redis.call('GET', key), redis.call('GET', index)
  if stored then
    if rank(text) > rank(stored) then redis.call('SET', key, text, 'KEEPTTL') end
  elseif not current or current == id then
    -- Where another ask took its place it does not come back.
    redis.call('SET', key, text, 'EX', ARGV[at + 4])
    redis.call('SET', index, id, 'EX', ARGV[at + 4])
    redis.call('ZADD', P .. 'al:' .. ARGV[2], ARGV[at + 3], id)
  end
end
return 1
`,
);
