/**
 * Functions every script shares. A settlement lives in a hash while it is worked on and in a
 * tombstone string afterwards; `load` hides the difference, `save_sale` writes to whichever it is.
 *
 * Tombstone fields, joined by `|` (see `tombstone.ts`):
 * 1 format, 2 state, 3 paid, 4 transaction, 5 block, 6 log, 7 batch size, 8 signed tag, 9 terms tag,
 * 10 sale, 11 asker, 12 key tag, 13 told, 14 reason, 15 finished, 16 async
 *
 * An asker is written `<process>.<number>`; a member of the waiting set `<asker>|<key tag>`. "Told" is
 * the list of askers that were told of success, or are being told; `*` once there were too many to
 * list, which can then not be taken back.
 */
export const PRELUDE = String.raw`
local P = 'x402:'

local function now()
  local t = redis.call('TIME')
  return t[1] * 1000 + math.floor(t[2] / 1000)
end

local function split(text, separator)
  local parts, from = {}, 1
  while true do
    local at = string.find(text, separator, from, true)
    if not at then
      parts[#parts + 1] = string.sub(text, from)
      return parts
    end
    parts[#parts + 1] = string.sub(text, from, at - 1)
    from = at + 1
  end
end

local function process_of(asker)
  return string.match(asker, '^[^.]+')
end

local function is_alive(asker)
  return asker ~= '' and redis.call('EXISTS', P .. 'p:' .. process_of(asker)) == 1
end

-- Any call of an asker shows that its process lives.
local function show_life(asker)
  redis.call('SET', P .. 'p:' .. process_of(asker), '1', 'PX', 5000)
end

-- Binds an idempotency key, and notes it in the record, so that a refused claim can unbind it.
local function bind(id, key, seconds)
  redis.call('SET', P .. 'k:' .. key, id, 'EX', seconds)
  local bound = redis.call('HGET', P .. 's:' .. id, 'ks')
  redis.call('HSET', P .. 's:' .. id, 'ks', bound and (bound .. ',' .. key) or key)
end

-- The settlement as {live, st, sale, sa, sk, told, tomb}, or nil.
local function load(id)
  local f = redis.call('HMGET', P .. 's:' .. id, 'st', 'sale', 'sa', 'sk', 'told')
  if f[1] then
    return { live = true, st = f[1], sale = f[2], sa = f[3] or '', sk = f[4] or '', told = f[5] or '' }
  end
  local text = redis.call('GET', P .. 't:' .. id)
  if not text then return nil end
  local t = split(text, '|')
  return { live = false, st = t[2], sale = t[10], sa = t[11], sk = t[12], told = t[13], tomb = t }
end

local function is_paid(s)
  if s.live then return s.st == 'included' end
  return s.tomb[3] == '1'
end

local function save_sale(id, s)
  if s.live then
    redis.call('HSET', P .. 's:' .. id, 'sale', s.sale, 'sa', s.sa, 'sk', s.sk, 'told', s.told)
  else
    local t = s.tomb
    t[10], t[11], t[12], t[13] = s.sale, s.sa, s.sk, s.told
    redis.call('SET', P .. 't:' .. id, table.concat(t, '|'), 'KEEPTTL')
  end
end

-- What an answer is made of: for a live settlement its fields, for a finished one its tombstone.
local function snapshot(id, s)
  local holder = '0'
  if s.sale ~= 'open' and is_alive(s.sa) then holder = '1' end
  if s.live then
    local f = redis.call('HMGET', P .. 's:' .. id, 'st', 'tx', 'hx', 'sg', 'tm', 'bn', 'li', 'bs', 'as', 'gen')
    local out = { 'live', holder, s.sale, s.sa, s.sk }
    for i = 1, 10 do out[#out + 1] = f[i] or '' end
    return out
  end
  return { 'done', holder, table.concat(s.tomb, '|') }
end

-- Tells every process with an asker for one of these settlements, in one message each. The text is the
-- ids, news, transaction, reason and, for a refusal, the generation of the claim that was refused.
local function tell_all(ids, news, transaction, reason)
  local by_process = {}
  for _, id in ipairs(ids) do
    local told = {}
    for _, member in ipairs(redis.call('ZRANGE', P .. 'w:' .. id, 0, -1)) do
      local process = process_of(member)
      if not told[process] then
        told[process] = true
        local mine = by_process[process]
        if mine then mine[#mine + 1] = id else by_process[process] = { id } end
      end
    end
  end
  for process, mine in pairs(by_process) do
    redis.call('PUBLISH', P .. 'news:' .. process, table.concat(mine, ',') .. '|' .. news .. '|' .. (transaction or '') .. '|' .. (reason or ''))
  end
end

local function tell(id, news, transaction, reason)
  tell_all({ id }, news, transaction, reason)
end

-- For people who look settlements up: the newest of a chain, and of each payer.
local function note_claim(chain, payer, id, at, seconds)
  local newest, of_payer = P .. 'c:' .. chain .. ':newest', P .. 'y:' .. chain .. ':' .. payer
  redis.call('ZADD', newest, at, id)
  redis.call('ZREMRANGEBYRANK', newest, 0, -501)
  redis.call('ZADD', of_payer, at, id)
  redis.call('ZREMRANGEBYRANK', of_payer, 0, -51)
  redis.call('EXPIRE', of_payer, seconds)
end

local function leave_queue(id, chain, payee)
  redis.call('ZREM', P .. 'c:' .. chain .. ':queued', id)
  redis.call('ZREM', P .. 'c:' .. chain .. ':pending', id)
  local load_key = P .. 'c:' .. chain .. ':load'
  if redis.call('HINCRBY', load_key, payee, -1) <= 0 then redis.call('HDEL', load_key, payee) end
end

local function leave_ready(id, chain, payee)
  local ready = P .. 'c:' .. chain .. ':ready:' .. payee
  if redis.call('ZREM', ready, id) == 1 and redis.call('EXISTS', ready) == 0 then
    redis.call('ZREM', P .. 'c:' .. chain .. ':payees', payee)
  end
end

local function in_flight_key(chain, token, payer)
  return P .. 'f:' .. chain .. ':' .. token .. ':' .. payer
end

-- Amounts are decimal texts of up to 78 digits: too large for Lua's numbers, so they are added in parts.
local function dec_add(a, b)
  local out, carry, i, j = '', 0, #a, #b
  while i > 0 or j > 0 or carry > 0 do
    local x = i > 0 and tonumber(string.sub(a, math.max(1, i - 13), i)) or 0
    local y = j > 0 and tonumber(string.sub(b, math.max(1, j - 13), j)) or 0
    local sum = x + y + carry
    carry = sum >= 1e14 and 1 or 0
    out = string.format('%014.0f', sum - carry * 1e14) .. out
    i, j = i - 14, j - 14
  end
  out = string.gsub(out, '^0+', '')
  return out == '' and '0' or out
end

local function dec_less(a, b)
  if #a ~= #b then return #a < #b end
  return a < b
end

local function dec_sub(a, b)
  if dec_less(a, b) then return '0' end
  local out, borrow, i, j = '', 0, #a, #b
  while i > 0 do
    local x = tonumber(string.sub(a, math.max(1, i - 13), i))
    local y = j > 0 and tonumber(string.sub(b, math.max(1, j - 13), j)) or 0
    local rest = x - y - borrow
    borrow = rest < 0 and 1 or 0
    out = string.format('%014.0f', rest + borrow * 1e14) .. out
    i, j = i - 14, j - 14
  end
  out = string.gsub(out, '^0+', '')
  return out == '' and '0' or out
end

-- What a payer has in flight in one token: <kind>:<amount> by id, and the totals _b (of the balance),
-- _p (of what is approved to Permit2) and _s (sponsored permits).
local function take_off(id, chain, token, payer, entry)
  local key = in_flight_key(chain, token, payer)
  if redis.call('HSETNX', key, id, entry) == 0 then return end
  local kind, amount = string.sub(entry, 1, 1), string.sub(entry, 3)
  local f = redis.call('HMGET', key, '_b', '_p', '_s')
  redis.call('HSET', key, '_b', dec_add(f[1] or '0', amount), '_p', kind == 'p' and dec_add(f[2] or '0', amount) or (f[2] or '0'),
    '_s', tonumber(f[3] or '0') + (kind == 's' and 1 or 0))
end

local function land(id, chain, token, payer)
  local key = in_flight_key(chain, token, payer)
  local entry = redis.call('HGET', key, id)
  if not entry then return end
  redis.call('HDEL', key, id)
  if redis.call('HLEN', key) <= 3 then
    redis.call('DEL', key)
    return
  end
  local kind, amount = string.sub(entry, 1, 1), string.sub(entry, 3)
  local f = redis.call('HMGET', key, '_b', '_p', '_s')
  redis.call('HSET', key, '_b', dec_sub(f[1] or '0', amount), '_p', kind == 'p' and dec_sub(f[2] or '0', amount) or (f[2] or '0'),
    '_s', tonumber(f[3] or '0') - (kind == 's' and 1 or 0))
end

local function enter_ready(id, chain, payee, deadline)
  redis.call('ZADD', P .. 'c:' .. chain .. ':ready:' .. payee, deadline, id)
  local payees = P .. 'c:' .. chain .. ':payees'
  if not redis.call('ZSCORE', payees, payee) then
    local first = redis.call('ZRANGE', payees, 0, 0, 'WITHSCORES')
    redis.call('ZADD', payees, first[2] or 0, payee)
  end
end

-- Ends a live settlement: its hash becomes details and a tombstone.
local function finish(id, state, paid, f)
  local key = P .. 's:' .. id
  local r = {}
  local flat = redis.call('HGETALL', key)
  for i = 1, #flat, 2 do r[flat[i]] = flat[i + 1] end
  local at = now()
  local t = { '1', state, paid and '1' or '0', f.tx or r.tx or '', f.bn or r.bn or '', f.li or r.li or '',
    f.bs or r.bs or '', r.sg, r.tm, r.sale, r.sa or '', r.sk or '', r.told or '', f.rs or '', tostring(at), r.as or '' }
  if t[4] == '' and r.hx and r.hx ~= '' then
    local hashes = split(r.hx, ',')
    t[4] = hashes[#hashes]
  end
  redis.call('SET', P .. 't:' .. id, table.concat(t, '|'), 'EX', f.tombstone)
  local details = { v = '1', me = r.me, ch = r.ch, tk = r.tk, py = r.py, pt = r.pt, am = r.am, nn = r.nn, dl = r.dl,
    hx = r.hx, bh = f.bh or r.bh, t0 = r.t0, t1 = r.t1, t2 = r.t2, t4 = r.t4, t5 = tostring(at) }
  redis.call('SET', P .. 'd:' .. id, cjson.encode(details), 'EX', f.retention)
  redis.call('DEL', key)
  redis.call('ZREM', P .. 'c:' .. r.ch .. ':live', id)
  land(id, r.ch, r.tk, r.py)
  return t
end
`;
