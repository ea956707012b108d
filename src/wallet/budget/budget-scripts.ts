import { script } from '../../redis/redis-scripts.js';
import { WALLET_PREFIX } from '../wallet-keys.js';

/**
 * The budget's steps, each atomic. Amounts are texts of 78 digits: they compare as texts and are added
 * in six parts of 13 digits, each exact in Lua's numbers.
 *
 * An entry is written `1|<asset>|<amount>|<payTo>`; the first part is the format's version.
 */
const PRELUDE = String.raw`
local P = '${WALLET_PREFIX}'
local ZERO = string.rep('0', 78)

local function add(a, b)
  local parts, carry = {}, 0
  for at = 66, 1, -13 do
    local sum = tonumber(string.sub(a, at, at + 12)) + tonumber(string.sub(b, at, at + 12)) + carry
    carry = sum >= 1e13 and 1 or 0
    table.insert(parts, 1, string.format('%013.0f', sum - carry * 1e13))
  end
  return table.concat(parts), carry == 1
end

local function is_ready(wallet)
  local gen = redis.call('GET', P .. 'gen')
  return gen and redis.call('HGET', P .. 'w:' .. wallet, 'gen') == gen
end

-- The entries that count now. They are kept for as long as the longest window there may be, so that
-- rules with a longer window find what was spent under a shorter one.
local function counting(wallet, since)
  local old = redis.call('ZRANGEBYSCORE', P .. 'z:' .. wallet, '-inf', '(' .. (since - 2592000), 'LIMIT', 0, 1000)
  for _, id in ipairs(old) do
    redis.call('ZREM', P .. 'z:' .. wallet, id)
    redis.call('HDEL', P .. 'e:' .. wallet, id)
  end
  local ids, entries = redis.call('ZRANGEBYSCORE', P .. 'z:' .. wallet, since, '+inf'), {}
  for from = 1, #ids, 1000 do
    local chunk = redis.call('HMGET', P .. 'e:' .. wallet, unpack(ids, from, math.min(from + 999, #ids)))
    for _, entry in ipairs(chunk) do entries[#entries + 1] = entry end
  end
  return entries
end

-- The sum of entries in one asset, to some payees (comma-separated) or to all ('*').
local function spent(entries, asset, payees)
  local sum = ZERO
  for _, entry in ipairs(entries) do
    local its_asset, amount, pay_to = string.match(entry, '^1|([^|]+)|(%d+)|([^|]+)$')
    if its_asset == asset and (payees == '*' or string.find(payees, pay_to, 1, true)) then
      sum = add(sum, amount)
    end
  end
  return sum
end
`;

/**
 * Charges a spending to every budget it counts against, or to none.
 *
 * | ARGV | |
 * |---|---|
 * | 1 wallet, 2 policy revision | |
 * | 3 id, 4 asset, 5 amount, 6 payTo, 7 deadline | of the spending |
 * | 8 oldest deadline that still counts, 9 most entries | |
 * | 10 due member | empty: not looked up on chain |
 * | 11 intent key, 12 its value, 13 the value it replaces, 14 its life, 15 history member, 16 now | 11 empty: no intent |
 * | 17... | budget and payees of each charge |
 *
 * Replies `ok`, `known` (charged already), `reused` (the same nonce for another payment), `locked`,
 * `changed` (the rules), `many`, `over` with the charge's number and what was spent, or `intent` with
 * what is stored under it.
 */
export const RESERVE = script(
  'wallet_reserve',
  PRELUDE +
    String.raw`
local wallet, id, asset, amount, pay_to = ARGV[1], ARGV[3], ARGV[4], ARGV[5], ARGV[6]
if not is_ready(wallet) then return { 'locked' } end
if ARGV[11] ~= '' then
  local stored = redis.call('GET', ARGV[11])
  if (stored or '') ~= ARGV[13] then return { 'intent', stored or '' } end
end
if redis.call('HGET', P .. 'w:' .. wallet, 'rev') ~= ARGV[2] then return { 'changed' } end
local entry = '1|' .. asset .. '|' .. amount .. '|' .. pay_to
local known = redis.call('HGET', P .. 'e:' .. wallet, id)
if known then
  -- The same nonce with another deadline is another signature: it could outlive the one that was
  -- charged. A transaction has no deadline that the chain knows.
  local deadline = tonumber(redis.call('ZSCORE', P .. 'z:' .. wallet, id) or '-1')
  local is_same = known == entry and (ARGV[10] == '' or deadline == tonumber(ARGV[7]))
  return { is_same and 'known' or 'reused' }
end
local entries = counting(wallet, ARGV[8])
if #entries >= tonumber(ARGV[9]) then return { 'many' } end
for at = 17, #ARGV, 2 do
  local before = spent(entries, asset, ARGV[at + 1])
  local after, is_beyond = add(before, amount)
  if is_beyond or after > ARGV[at] then return { 'over', tostring((at - 17) / 2), before } end
end
redis.call('HSET', P .. 'e:' .. wallet, id, entry)
redis.call('ZADD', P .. 'z:' .. wallet, ARGV[7], id)
if ARGV[10] ~= '' then redis.call('ZADD', P .. 'due', ARGV[7], ARGV[10]) end
if ARGV[11] ~= '' then
  redis.call('SET', ARGV[11], ARGV[12], 'EX', ARGV[14])
  redis.call('ZADD', P .. 'h:' .. wallet, ARGV[16], ARGV[15])
  redis.call('ZREMRANGEBYRANK', P .. 'h:' .. wallet, 0, -201)
end
return { 'ok' }
`,
);

/** ARGV: wallet, id. 1 when the charge still stands: asked after the journal has it, before signing. */
export const CONFIRM = script(
  'wallet_confirm',
  PRELUDE +
    String.raw`
if not is_ready(ARGV[1]) then return 0 end
return redis.call('HEXISTS', P .. 'e:' .. ARGV[1], ARGV[2])
`,
);

/** ARGV: wallet, id, due member. The chain has proven that it will not be spent. */
export const RELEASE = script(
  'wallet_release',
  PRELUDE +
    String.raw`
redis.call('HDEL', P .. 'e:' .. ARGV[1], ARGV[2])
redis.call('ZREM', P .. 'z:' .. ARGV[1], ARGV[2])
return redis.call('ZREM', P .. 'due', ARGV[3])
`,
);

/** ARGV: wallet, oldest deadline that counts, then asset and payees of each question. Sums. */
export const SPENT = script(
  'wallet_spent',
  PRELUDE +
    String.raw`
if not is_ready(ARGV[1]) then return { 'locked' } end
local entries, sums = counting(ARGV[1], ARGV[2]), { 'ok' }
for at = 3, #ARGV, 2 do sums[#sums + 1] = spent(entries, ARGV[at], ARGV[at + 1]) end
return sums
`,
);

/**
 * Brings entries and intents back after a loss; what is there already stays.
 * ARGV: generation, wallet, count of entries, then per entry id, entry, deadline, due member; then per
 * intent key, value, life, history member, time. Replies 0 when Redis was lost again meanwhile.
 */
export const RESTORE = script(
  'wallet_restore',
  PRELUDE +
    String.raw`
if redis.call('GET', P .. 'gen') ~= ARGV[1] then return 0 end
local wallet, at = ARGV[2], 4
for _ = 1, tonumber(ARGV[3]) do
  if redis.call('HSETNX', P .. 'e:' .. wallet, ARGV[at], ARGV[at + 1]) == 1 then
    redis.call('ZADD', P .. 'z:' .. wallet, ARGV[at + 2], ARGV[at])
    if ARGV[at + 3] ~= '' then redis.call('ZADD', P .. 'due', ARGV[at + 2], ARGV[at + 3]) end
  end
  at = at + 4
end
while at <= #ARGV do
  if redis.call('SET', ARGV[at], ARGV[at + 1], 'EX', ARGV[at + 2], 'NX') then
    redis.call('ZADD', P .. 'h:' .. wallet, ARGV[at + 4], ARGV[at + 3])
  end
  at = at + 5
end
return 1
`,
);

/**
 * Unlocks a wallet that has everything back, and sets its rules where they are newer.
 * ARGV: generation, wallet, revision, policy, tokens void before.
 */
export const UNLOCK = script(
  'wallet_unlock',
  PRELUDE +
    String.raw`
if redis.call('GET', P .. 'gen') ~= ARGV[1] then return 0 end
local key = P .. 'w:' .. ARGV[2]
if tonumber(ARGV[3]) > tonumber(redis.call('HGET', key, 'rev') or '0') then
  redis.call('HSET', key, 'rev', ARGV[3], 'policy', ARGV[4])
end
if tonumber(ARGV[5]) > tonumber(redis.call('HGET', key, 'nb') or '0') then
  redis.call('HSET', key, 'nb', ARGV[5])
end
redis.call('HSET', key, 'gen', ARGV[1])
return 1
`,
);
