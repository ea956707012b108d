/**
 * Scripts of the asking side: look-up, claim, and the sale. See `prelude.ts` for shared functions.
 * Each is atomic; each may be repeated after a lost answer without a second effect.
 */

/**
 * Everything needed before a payment is judged, in one round trip.
 *
 * | ARGV | |
 * |---|---|
 * | 1 | settlement id |
 * | 2 | key tag of an idempotency key, or empty |
 * | 3 | chain id |
 * | 4 | token |
 * | 5 | payer |
 *
 * Returns {snapshot or empty list, id bound to the key, in flight: totals of balance, allowance and
 * sponsored permits, and this settlement's own entry, reverts of the payer}.
 */
export const LOOK = String.raw`
local id = ARGV[1]
local s = load(id)
local bound = ''
if ARGV[2] ~= '' then bound = redis.call('GET', P .. 'k:' .. ARGV[2]) or '' end
local flying = redis.call('HMGET', in_flight_key(ARGV[3], ARGV[4], ARGV[5]), '_b', '_p', '_s', id)
local in_flight = { flying[1] or '0', flying[2] or '0', flying[3] or '0', flying[4] or '' }
local reverts = redis.call('GET', P .. 'v:' .. ARGV[3] .. ':' .. ARGV[5]) or '0'
return { s and snapshot(id, s) or {}, bound, in_flight, reverts }
`;

/**
 * Makes the record of a payment that was judged good, with the sale held by its asker. Over a
 * settlement that failed with its authorization unused it makes a new one that remembers the old
 * transactions.
 *
 * | ARGV | |
 * |---|---|
 * | 1 | settlement id |
 * | 2 | asker |
 * | 3 | key tag, or empty |
 * | 4 | chain id |
 * | 5 | token |
 * | 6 | payer |
 * | 7 | payTo |
 * | 8 | deadline, Unix seconds |
 * | 9 | amount in flight, as `<kind>:<amount>` |
 * | 10 | the payer's balance, where the judgement read it, else empty |
 * | 11 | what it has approved to Permit2, likewise |
 * | 12 | most settlements queued on a chain |
 * | 13 | seconds an idempotency key is remembered |
 * | 14 | arrival of the request, ms |
 * | 15 | `1` when the sale is handed out at once (202) |
 * | 16.. | further fields of the record: name, value, ... |
 *
 * Returns {'claimed'} | {'known'} | {'key_conflict'} | {'queue_full', queued} | {'in_flight_changed'}
 * | {'permit_in_flight'}.
 */
export const CLAIM = String.raw`
local id, asker, key, chain, token, payer, payee = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[7]
local s = load(id)
if s and (s.live or is_paid(s) or s.st == 'foreign') then return { 'known' } end
if key ~= '' then
  local bound = redis.call('GET', P .. 'k:' .. key)
  if bound and bound ~= id then return { 'key_conflict' } end
end
local kind, amount = string.sub(ARGV[9], 1, 1), string.sub(ARGV[9], 3)
local f = redis.call('HMGET', in_flight_key(chain, token, payer), '_b', '_p', '_s')
local function fits(in_flight, limit)
  if (in_flight or '0') == '0' then return true end
  return limit ~= '' and not dec_less(limit, dec_add(in_flight, amount))
end
if not fits(f[1], ARGV[10]) then return { 'in_flight_changed' } end
if kind == 'p' and not fits(f[2], ARGV[11]) then return { 'in_flight_changed' } end
if kind == 's' and tonumber(f[3] or '0') > 0 then return { 'permit_in_flight' } end
local most = tonumber(ARGV[12])
local queued = redis.call('ZCARD', P .. 'c:' .. chain .. ':queued')
if queued >= most then return { 'queue_full', queued } end
local load_key = P .. 'c:' .. chain .. ':load'
local own = tonumber(redis.call('HGET', load_key, payee) or '0')
if own >= most / 4 and queued > own then return { 'queue_full', queued } end

local at = now()
local hashes, previous = '', nil
if s then
  previous = redis.call('GET', P .. 'd:' .. id)
  if previous then
    hashes = cjson.decode(previous).hx or ''
  elseif s.tomb[4] ~= '' then
    hashes = s.tomb[4]
  end
  redis.call('DEL', P .. 't:' .. id, P .. 'd:' .. id)
end
local sale = ARGV[15] == '1' and 'sold' or 'held'
redis.call('HSET', P .. 's:' .. id, 'v', '1', 'st', 'queued', 'gen', asker, 'ch', chain, 'tk', token, 'py', payer,
  'pt', payee, 'dl', ARGV[8], 'sale', sale, 'sa', asker, 'sk', key, 'told', ARGV[15] == '1' and asker or '',
  'as', ARGV[15] == '1' and '1' or '', 'hx', hashes, 'pl', 'pending', 't0', ARGV[14], 't1', at, unpack(ARGV, 16))
redis.call('ZADD', P .. 'c:' .. chain .. ':live', at, id)
redis.call('ZADD', P .. 'c:' .. chain .. ':queued', at, id)
redis.call('ZADD', P .. 'c:' .. chain .. ':pending', at, id)
redis.call('HINCRBY', load_key, payee, 1)
note_claim(chain, payer, id, at, ARGV[13])
take_off(id, chain, token, payer, ARGV[9])
if key ~= '' then bind(id, key, ARGV[13]) end
show_life(asker)
redis.call('ZADD', P .. 'w:' .. id, ARGV[14], asker .. '|' .. key)
redis.call('EXPIRE', P .. 'w:' .. id, 300)
return { 'claimed', queued }
`;

/**
 * Joins the askers of a settlement, or asks again as one of them, and takes the sale where that is
 * due: it is open, or its holder's process has fallen silent.
 *
 * | ARGV | |
 * |---|---|
 * | 1 | settlement id |
 * | 2 | asker |
 * | 3 | key tag, or empty |
 * | 4 | arrival of the request, ms |
 * | 5 | most askers that wait for one settlement |
 * | 6 | seconds an idempotency key is remembered |
 * | 7 | generation the asker waits for, or empty |
 *
 * Returns {role, snapshot} with the role `holder`, `owner` (sold to this asker's key), `waiter`,
 * `outsider` (sold to another) or `too_many`; {'gone', reason} when there is no such settlement, with
 * the reason the claim was refused for, if it was; {'key_conflict'}.
 */
export const ASK = String.raw`
local id, asker, key = ARGV[1], ARGV[2], ARGV[3]
local s = load(id)
if not s then return { 'gone', redis.call('GET', P .. 'r:' .. id .. ':' .. ARGV[7]) or '' } end
if key ~= '' then
  local bound = redis.call('GET', P .. 'k:' .. key)
  if bound and bound ~= id then return { 'key_conflict' } end
  if not bound then
    if s.live then bind(id, key, ARGV[6]) else redis.call('SET', P .. 'k:' .. key, id, 'EX', ARGV[6]) end
  end
end
show_life(asker)
local is_same = s.sa == asker or (key ~= '' and s.sk == key)
local waiting = P .. 'w:' .. id
local member = asker .. '|' .. key
if s.sale == 'sold' and not is_same then
  redis.call('ZREM', waiting, member)
  return { 'outsider', snapshot(id, s) }
end
local is_new = redis.call('ZADD', waiting, 'NX', ARGV[4], member) == 1
redis.call('EXPIRE', waiting, 300)
if s.sale == 'sold' then return { 'owner', snapshot(id, s) } end
if s.sale == 'held' and is_same then
  if s.sa ~= asker and not is_alive(s.sa) then
    s.sa = asker
    save_sale(id, s)
  end
  return { 'holder', snapshot(id, s) }
end
if s.sale == 'open' or not is_alive(s.sa) then
  for _, first in ipairs(redis.call('ZRANGE', waiting, 0, -1)) do
    local bar = string.find(first, '|', 1, true)
    local candidate = string.sub(first, 1, bar - 1)
    if is_alive(candidate) then
      s.sale, s.sa, s.sk = 'held', candidate, string.sub(first, bar + 1)
      save_sale(id, s)
      if candidate == asker then return { 'holder', snapshot(id, s) } end
      redis.call('PUBLISH', P .. 'news:' .. process_of(candidate), id .. '|held||')
      break
    end
    redis.call('ZREM', waiting, first)
  end
  if s.sa == asker or (key ~= '' and s.sk == key) then return { 'holder', snapshot(id, s) } end
end
if is_new and redis.call('ZCARD', waiting) > tonumber(ARGV[5]) then
  redis.call('ZREM', waiting, member)
  return { 'too_many', snapshot(id, s) }
end
return { 'waiter', snapshot(id, s) }
`;

/**
 * Sells: the compare-and-set that comes before any answer of success. The asker counts as told from
 * here on; LEAVE takes that back.
 *
 * | ARGV | |
 * |---|---|
 * | 1 | settlement id |
 * | 2 | asker |
 * | 3 | key tag, or empty |
 * | 4 | `1` when the answer is a 202 |
 *
 * Returns {'sold', snapshot} | {'lost', snapshot} | {'unpaid', snapshot} | {'gone'}.
 */
export const SELL = String.raw`
local function add_told(told, asker)
  if told == '' then return asker end
  local all = split(told, ',')
  for _, one in ipairs(all) do
    if one == asker then return told end
  end
  if told == '*' or #all >= 16 then return '*' end
  return told .. ',' .. asker
end

local id, asker, key = ARGV[1], ARGV[2], ARGV[3]
local s = load(id)
if not s then return { 'gone' } end
local is_same = s.sa == asker or (key ~= '' and s.sk == key)
if s.sale == 'open' or not is_same then return { 'lost', snapshot(id, s) } end
if ARGV[4] ~= '1' and not is_paid(s) then return { 'unpaid', snapshot(id, s) } end
if s.sale == 'held' then
  s.sale, s.sa, s.told = 'sold', asker, ''
  tell(id, 'sold')
end
s.told = add_told(s.told, asker)
save_sale(id, s)
if ARGV[4] == '1' and s.live then redis.call('HSET', P .. 's:' .. id, 'as', '1') end
redis.call('ZREM', P .. 'w:' .. id, asker .. '|' .. key)
return { 'sold', snapshot(id, s) }
`;

const GIVE_ON = String.raw`
-- Gives a free sale to the asker that has waited longest, one with the same key first.
local function give_on(id, s)
  local key = s.sk
  s.sale, s.sa, s.sk, s.told = 'open', '', '', ''
  local members = redis.call('ZRANGE', P .. 'w:' .. id, 0, -1)
  for round = 1, 2 do
    for _, member in ipairs(members) do
      local bar = string.find(member, '|', 1, true)
      local candidate, its_key = string.sub(member, 1, bar - 1), string.sub(member, bar + 1)
      if (round == 2 or (key ~= '' and its_key == key)) and is_alive(candidate) then
        s.sale, s.sa, s.sk = 'held', candidate, its_key
        save_sale(id, s)
        redis.call('PUBLISH', P .. 'news:' .. process_of(candidate), id .. '|held||')
        return
      end
    end
  end
  save_sale(id, s)
end
`;

/**
 * An asker leaves: its time is up, its client hung up, or its answer of success could not be finished.
 * What it held is given on; what was sold to it alone is free again. When that ends the wait for a
 * settlement of which nothing was ever signed, the settlement is withdrawn.
 *
 * | ARGV | |
 * |---|---|
 * | 1 | settlement id |
 * | 2 | asker |
 * | 3 | key tag, or empty |
 * | 4 | `timeout` or `closed` |
 * | 5 | seconds details are kept |
 *
 * Returns {'withdrawn' | 'left', `1` when the sale was its own, snapshot} | {'gone'}.
 */
export const LEAVE = String.raw`${GIVE_ON}
local id, asker, key = ARGV[1], ARGV[2], ARGV[3]
local waiting = P .. 'w:' .. id
redis.call('ZREM', waiting, asker .. '|' .. key)
local s = load(id)
if not s then return { 'gone' } end
local is_same = s.sale ~= 'open' and (s.sa == asker or (key ~= '' and s.sk == key))
local was_holder = is_same and '1' or '0'
if s.sale == 'sold' and s.told ~= '*' then
  local others = {}
  for _, one in ipairs(split(s.told, ',')) do
    if one ~= asker then others[#others + 1] = one end
  end
  s.told = table.concat(others, ',')
  if s.told == '' then
    if s.live then redis.call('HSET', P .. 's:' .. id, 'as', '') end
    give_on(id, s)
  else
    save_sale(id, s)
  end
end
local is_last = true
for _, member in ipairs(redis.call('ZRANGE', waiting, 0, -1)) do
  if is_alive(member) then
    is_last = false
    break
  end
end
if s.live and s.st == 'queued' then
  local f = redis.call('HMGET', P .. 's:' .. id, 'hx', 'as', 'ch', 'pt')
  local is_over = is_last or (ARGV[4] == 'timeout' and (is_same or s.sale == 'open'))
  if f[1] == '' and f[2] == '' and is_over then
    leave_queue(id, f[3], f[4])
    leave_ready(id, f[3], f[4])
    local lane = redis.call('HGET', P .. 's:' .. id, 'wk')
    if lane then redis.call('ZREM', P .. 'l:' .. lane .. ':work', id) end
    redis.call('HSET', P .. 's:' .. id, 'sale', 'open', 'sa', '', 'sk', '', 'told', '')
    local t = finish(id, 'withdrawn', false, { rs = 'settlement_not_sent', tombstone = ARGV[5], retention = ARGV[5] })
    tell(id, 'failed', '', 'settlement_not_sent')
    return { 'withdrawn', was_holder, { 'done', '0', table.concat(t, '|') } }
  end
end
if s.sale == 'held' and s.sa == asker then give_on(id, s) end
return { 'left', was_holder, snapshot(id, s) }
`;
