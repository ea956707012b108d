import { script } from '../../platform/redis/redis-scripts.js';
import { SUMS } from './sums-script.js';

/**
 * The steps of the budget, each atomic. A charge is one entry, named by its authorization *and* its deadline;
 * `wallet-keys.ts` describes where entries are. The flag of an entry:
 *
 * | flag | the charge |
 * |---|---|
 * | `f` | was made with all charges counted; the journal may not have it yet |
 * | `j` | is in the journal too |
 * | `s` | was signed |
 * | `r` | was restored from the journal, and may never have been signed |
 * | `x` | was released: its authorization is never charged or signed again |
 */
export const PRELUDE =
  SUMS +
  String.raw`
-- A name for what this Redis holds: another one after a loss, a restart and a failover.
local function generation()
  local name = redis.call('GET', P .. 'gen')
  if not name then return false end
  return name .. ':' .. (string.match(redis.call('INFO', 'server'), 'run_id:(%x+)') or '')
end

local function ready_as(wallet)
  local own = redis.call('HGET', P .. 'w:' .. wallet, 'gen')
  if own and own == generation() then return own end
  return false
end

-- The number of the first of these charges that is beyond its budget, and what was spent of it.
local function over(wallet, asset, amount, first)
  for at = first, #ARGV, 2 do
    local before = spent(wallet, asset, ARGV[at + 1])
    local after, is_beyond = add(before, amount)
    if is_beyond or after > ARGV[at] then return tostring((at - first) / 2), before end
  end
  return false
end

local function release(wallet, id, deadline)
  local entry = redis.call('HGET', P .. 'e:' .. wallet, id)
  if not entry then return end
  local terms, its_deadline, flag = split(entry)
  if flag == 'x' or its_deadline ~= deadline then return end
  if redis.call('ZREM', P .. 'z:' .. wallet, id) == 1 then count(wallet, entry, sub) end
  redis.call('ZREM', P .. 'o:' .. wallet, id)
  redis.call('ZADD', P .. 'd:' .. wallet, deadline, id)
  redis.call('HSET', P .. 'e:' .. wallet, id, terms .. deadline .. '|x')
end
`;

/**
 * Charges a spending to every budget it counts against, or to none of them.
 *
 * | ARGV | |
 * |---|---|
 * | 1 wallet, 2 policy revision | |
 * | 3 id, 4 asset, 5 amount, 6 payTo, 7 deadline | of the spending |
 * | 8 oldest deadline that still counts, 9 most entries | |
 * | 10 due member | empty: not looked up on chain |
 * | 11 intent key, 12 its value, 13 the value it replaces, 14 its life, 15 history member, 16 now | 11 empty: no intent |
 * | 17 approval key, 18 its ask | 17 empty: the owner need not be asked |
 * | 19... | budget and payees of each charge |
 *
 * Replies `ok` or `known` (already charged) with the generation and the entry's flag, `reused` (the nonce belongs to
 * another or an ended payment), `locked`, `changed` (the rules), `busy` (ask again), `many`, `unapproved` (the owner's
 * approval is missing, or was used for another charge), `over` with the charge's number and the sum spent, or `intent`
 * with the stored intent.
 */
export const RESERVE = script(
  'wallet_reserve',
  PRELUDE +
    String.raw`
local wallet, id, asset, amount, pay_to, deadline = ARGV[1], ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[7]
local gen = ready_as(wallet)
if not gen then return { 'locked' } end
if ARGV[11] ~= '' then
  local stored = redis.call('GET', ARGV[11])
  if (stored or '') ~= ARGV[13] then return { 'intent', stored or '' } end
end
if redis.call('HGET', P .. 'w:' .. wallet, 'rev') ~= ARGV[2] then return { 'changed' } end
if not slide(wallet, ARGV[8]) then return { 'busy' } end
local terms = terms_of(asset, amount, pay_to)
local known = redis.call('HGET', P .. 'e:' .. wallet, id)
if known then
  -- The same nonce with another deadline is another signature: it could outlive the one that was
  -- charged. A transaction has no deadline that the chain knows.
  local its_terms, its_deadline, flag = split(known)
  local is_same = its_terms == terms and flag ~= 'x' and (ARGV[10] == '' or its_deadline == deadline)
  if not is_same then return { 'reused' } end
  -- Others may have been charged before this one came back, and it may never have been signed.
  if flag == 'r' and redis.call('ZSCORE', P .. 'z:' .. wallet, id) then
    local which, before = over(wallet, asset, ZERO, 19)
    if which then return { 'over', which, before } end
  end
  return { 'known', gen, flag }
end
if remembered(wallet) >= tonumber(ARGV[9]) then return { 'many' } end
local which, before = over(wallet, asset, amount, 19)
if which then return { 'over', which, before } end
if ARGV[17] ~= '' then
  local state, by, sealed = string.match(redis.call('GET', ARGV[17]) or '', '^(%a)|([^/]*)(/.*)$')
  if state ~= 'a' and not (state == 'u' and by == id) then return { 'unapproved' } end
  redis.call('SET', ARGV[17], 'u|' .. id .. sealed, 'KEEPTTL')
  redis.call('ZREM', P .. 'al:' .. wallet, ARGV[18])
end
local entry = terms .. deadline .. '|f'
redis.call('HSET', P .. 'e:' .. wallet, id, entry)
redis.call('ZADD', P .. 'z:' .. wallet, deadline, id)
count(wallet, entry, add)
if ARGV[10] ~= '' then redis.call('ZADD', P .. 'due', deadline, ARGV[10]) end
if ARGV[11] ~= '' then
  redis.call('SET', ARGV[11], ARGV[12], 'EX', ARGV[14])
  redis.call('ZADD', P .. 'h:' .. wallet, ARGV[16], ARGV[15])
  redis.call('ZREMRANGEBYRANK', P .. 'h:' .. wallet, 0, -201)
end
return { 'ok', gen, 'f' }
`,
);

/**
 * ARGV: wallet, id, generation of the charge. 1 when the charge is still there and nothing was lost since: checked
 * after the journal has it, and before signing.
 */
export const CONFIRM = script(
  'wallet_confirm',
  PRELUDE +
    String.raw`
if ready_as(ARGV[1]) ~= ARGV[3] then return 0 end
local entry = redis.call('HGET', P .. 'e:' .. ARGV[1], ARGV[2])
if not entry then return 0 end
local terms, deadline, flag = split(entry)
if flag == 'x' then return 0 end
if flag == 'f' then redis.call('HSET', P .. 'e:' .. ARGV[1], ARGV[2], terms .. deadline .. '|j') end
return 1
`,
);

/** ARGV: wallet, id, deadline. The journal records that it was signed. */
export const MARK_SIGNED = script(
  'wallet_mark_signed',
  PRELUDE +
    String.raw`
local entry = redis.call('HGET', P .. 'e:' .. ARGV[1], ARGV[2])
if not entry then return 0 end
local terms, deadline, flag = split(entry)
if flag == 'x' or deadline ~= ARGV[3] then return 0 end
redis.call('HSET', P .. 'e:' .. ARGV[1], ARGV[2], terms .. deadline .. '|s')
return 1
`,
);

/** ARGV: wallet, id, deadline, due member. The chain has proven that this charge will not be spent. */
export const RELEASE = script(
  'wallet_release',
  PRELUDE +
    String.raw`
release(ARGV[1], ARGV[2], ARGV[3])
return redis.call('ZREM', P .. 'due', ARGV[4])
`,
);

/** ARGV: wallet, oldest deadline that counts, then fields of sums. Replies `ok` and each sum. */
export const SPENT = script(
  'wallet_spent',
  PRELUDE +
    String.raw`
if not ready_as(ARGV[1]) then return { 'locked' } end
if not slide(ARGV[1], ARGV[2]) then return { 'busy' } end
local sums = { 'ok' }
for from = 3, #ARGV, 500 do
  local chunk = redis.call('HMGET', P .. 's:' .. ARGV[1], unpack(ARGV, from, math.min(from + 499, #ARGV)))
  for _, sum in ipairs(chunk) do sums[#sums + 1] = sum or '0' end
end
return sums
`,
);

/** ARGV: a new name. Names the content of Redis if it has no name yet; replies the generation. */
export const NAME_GENERATION = script(
  'wallet_name_generation',
  PRELUDE +
    String.raw`
redis.call('SET', P .. 'gen', ARGV[1], 'NX')
return generation()
`,
);

/**
 * Restores entries and intents after a loss, with their results. ARGV: generation, wallet, count of entries, then per
 * entry id, terms, deadline, flag, due member; then per intent key, value, how often it was charged, life, history
 * member, time. Replies 0 when Redis was lost again meanwhile.
 */
export const RESTORE = script(
  'wallet_restore',
  PRELUDE +
    String.raw`
if generation() ~= ARGV[1] then return 0 end
local wallet, at = ARGV[2], 4
local entries = P .. 'e:' .. wallet
for _ = 1, tonumber(ARGV[3]) do
  local id, terms, deadline, flag, due = ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], ARGV[at + 4]
  local known = redis.call('HGET', entries, id)
  if not known then
    redis.call('HSET', entries, id, terms .. deadline .. '|' .. flag)
    -- Sliding brings in what counts.
    redis.call('ZADD', P .. (flag == 'x' and 'd:' or 'o:') .. wallet, deadline, id)
    if due ~= '' then redis.call('ZADD', P .. 'due', 'NX', deadline, due) end
  elseif flag == 'x' then
    release(wallet, id, deadline)
  elseif flag == 's' then
    local its_terms, its_deadline, its_flag = split(known)
    if its_flag ~= 'x' and its_deadline == deadline then
      redis.call('HSET', entries, id, its_terms .. deadline .. '|s')
    end
  end
  at = at + 5
end
while at <= #ARGV do
  local stored = redis.call('GET', ARGV[at])
  local charged = stored and tonumber(string.match(stored, '^(%d+)/')) or 0
  -- What Redis has may be of an earlier payment of the same intent.
  if not stored or charged < tonumber(ARGV[at + 2]) then
    redis.call('SET', ARGV[at], ARGV[at + 1], 'EX', ARGV[at + 3])
    redis.call('ZADD', P .. 'h:' .. wallet, ARGV[at + 5], ARGV[at + 4])
  end
  at = at + 6
end
return 1
`,
);

/**
 * Unlocks a fully restored wallet, and sets its rules unless there are newer ones. ARGV: generation, wallet, revision,
 * rules, tokens void before.
 */
export const UNLOCK = script(
  'wallet_unlock',
  PRELUDE +
    String.raw`
if generation() ~= ARGV[1] then return 0 end
local key = P .. 'w:' .. ARGV[2]
if tonumber(ARGV[3]) >= tonumber(redis.call('HGET', key, 'rev') or '0') then
  redis.call('HSET', key, 'rev', ARGV[3], 'rules', ARGV[4], 'force', '1')
end
if tonumber(ARGV[5]) > tonumber(redis.call('HGET', key, 'nb') or '0') then
  redis.call('HSET', key, 'nb', ARGV[5])
end
redis.call('HSET', key, 'gen', ARGV[1])
return 1
`,
);

/** ARGV: wallet. Replies revision, rules and whether they are in force; nothing while the wallet is locked. */
export const READ_RULES = script(
  'wallet_read_rules',
  PRELUDE +
    String.raw`
if not ready_as(ARGV[1]) then return {} end
return redis.call('HMGET', P .. 'w:' .. ARGV[1], 'rev', 'rules', 'force')
`,
);

/** ARGV: wallet, revision it replaces, revision, rules. Not in force until the journal has them. */
export const SET_RULES = script(
  'wallet_set_rules',
  PRELUDE +
    String.raw`
local key = P .. 'w:' .. ARGV[1]
if not ready_as(ARGV[1]) or redis.call('HGET', key, 'rev') ~= ARGV[2] then return 0 end
redis.call('HSET', key, 'rev', ARGV[3], 'rules', ARGV[4], 'force', '0')
return 1
`,
);

/** ARGV: wallet, rules as stored. The journal records that they are in force. */
export const PUT_IN_FORCE = script(
  'wallet_put_in_force',
  PRELUDE +
    String.raw`
local key = P .. 'w:' .. ARGV[1]
if not ready_as(ARGV[1]) or redis.call('HGET', key, 'rules') ~= ARGV[2] then return 0 end
return redis.call('HSET', key, 'force', '1') + 1
`,
);
