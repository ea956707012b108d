/**
 * Scripts of the settling side. Every one that writes for a lane asserts the lane's lease first: the
 * text `<process>:<epoch>`, compared for equality. See `prelude.ts` for shared functions.
 */

const OWN = String.raw`
local function owns(lane, lease)
  return redis.call('GET', P .. 'l:' .. lane .. ':lease') == lease
end

-- An operator has stopped this lane: it follows what it has sent and sends nothing new.
local function is_paused(lane)
  return redis.call('HEXISTS', P .. 'paused', lane) == 1
end

local function settlement(id)
  local f = redis.call('HMGET', P .. 's:' .. id, 'st', 'ch', 'pt', 'tk', 'py', 'dl', 'ln', 'an', 'hx', 'pl', 'wk')
  if not f[1] then return nil end
  return { st = f[1], ch = f[2], pt = f[3], tk = f[4], py = f[5], dl = f[6], ln = f[7] or '', an = f[8] or '', hx = f[9] or '', pl = f[10] or '', wk = f[11] or '' }
end

local function add_hash(id, r, hash)
  local all = r.hx == '' and hash or (r.hx .. ',' .. hash)
  redis.call('HSET', P .. 's:' .. id, 'hx', all, 'tx', hash)
end
`;

/**
 * Takes a free lane.
 *
 * | ARGV | |
 * |---|---|
 * | 1 | lane |
 * | 2 | process |
 * | 3 | lease, ms |
 *
 * Returns the lease, whose epoch is the time of Redis in microseconds, or an empty string.
 */
export const ACQUIRE = String.raw`
local key = P .. 'l:' .. ARGV[1] .. ':lease'
if redis.call('EXISTS', key) == 1 then return '' end
local t = redis.call('TIME')
local lease = ARGV[2] .. ':' .. t[1] .. string.format('%06d', t[2])
redis.call('SET', key, lease, 'PX', ARGV[3])
return lease
`;

/** ARGV: lane, lease, ms. Returns 1 when the lease was still held and is prolonged. */
export const RENEW = String.raw`${OWN}
if not owns(ARGV[1], ARGV[2]) then return 0 end
redis.call('PEXPIRE', P .. 'l:' .. ARGV[1] .. ':lease', ARGV[3])
return 1
`;

/** ARGV: lane, lease. Gives a lane up; what its writer had taken and not signed is ready again. */
export const RELEASE = String.raw`${OWN}
if not owns(ARGV[1], ARGV[2]) then return 0 end
redis.call('DEL', P .. 'l:' .. ARGV[1] .. ':lease')
return 1
`;

/**
 * Marks settlements as ready for the lanes of their chain. Those that are not waiting for it any more
 * are passed over, so that a job may be run any number of times.
 *
 * ARGV: chain, ids... Returns how many became ready.
 */
export const READY = String.raw`${OWN}
local count = 0
for i = 2, #ARGV do
  local id = ARGV[i]
  local r = settlement(id)
  redis.call('ZREM', P .. 'c:' .. ARGV[1] .. ':pending', id)
  if r and r.st == 'queued' and r.pl == 'pending' then
    redis.call('HSET', P .. 's:' .. id, 'pl', 'ready')
    enter_ready(id, r.ch, r.pt, r.dl)
    count = count + 1
  end
end
if count > 0 then redis.call('PUBLISH', P .. 'work:' .. ARGV[1], '') end
return count
`;

/**
 * Finds settlements whose job did not bring them here: claimed some time ago and still pending.
 *
 * ARGV: chain, least age ms, most. Returns ids.
 */
export const OVERDUE = String.raw`
return redis.call('ZRANGEBYSCORE', P .. 'c:' .. ARGV[1] .. ':pending', 0, now() - tonumber(ARGV[2]), 'LIMIT', 0, ARGV[3])
`;

/**
 * Takes ready settlements for a lane: payees in turn, of each the one with the earliest deadline.
 *
 * | ARGV | |
 * |---|---|
 * | 1 | lane |
 * | 2 | lease |
 * | 3 | chain |
 * | 4 | most |
 *
 * Returns a flat list of id, payment, the block before its first broadcast (empty when it was never
 * broadcast), its transactions, or an empty list, as when the lane is paused; false when the lease is
 * lost.
 */
export const TAKE = String.raw`${OWN}
local lane, chain = ARGV[1], ARGV[3]
if not owns(lane, ARGV[2]) then return false end
if is_paused(lane) then return {} end
local payees = P .. 'c:' .. chain .. ':payees'
local out, at = {}, now()
while #out < tonumber(ARGV[4]) * 4 do
  local first = redis.call('ZRANGE', payees, 0, 0)
  if not first[1] then break end
  local ready = P .. 'c:' .. chain .. ':ready:' .. first[1]
  local popped = redis.call('ZPOPMIN', ready)
  if redis.call('EXISTS', ready) == 1 then
    redis.call('ZINCRBY', payees, 1, first[1])
  else
    redis.call('ZREM', payees, first[1])
  end
  local id = popped[1]
  if id then
    local f = redis.call('HMGET', P .. 's:' .. id, 'st', 'pay', 'al', 'hx')
    if f[1] == 'queued' then
      redis.call('HSET', P .. 's:' .. id, 'pl', 'work', 'wk', lane)
      redis.call('ZADD', P .. 'l:' .. lane .. ':work', at, id)
      out[#out + 1] = id
      out[#out + 1] = f[2]
      out[#out + 1] = f[3] or ''
      out[#out + 1] = f[4] or ''
    end
  end
end
return out
`;

/** ARGV: lane, lease, ids... What a lane has taken and will not send now is ready again. */
export const GIVE_BACK = String.raw`${OWN}
if not owns(ARGV[1], ARGV[2]) then return 0 end
for i = 3, #ARGV do
  local id = ARGV[i]
  local r = settlement(id)
  redis.call('ZREM', P .. 'l:' .. ARGV[1] .. ':work', id)
  if r and r.st == 'queued' and r.wk == ARGV[1] and r.pl == 'work' then
    redis.call('HSET', P .. 's:' .. id, 'pl', 'ready')
    redis.call('HDEL', P .. 's:' .. id, 'wk')
    enter_ready(id, r.ch, r.pt, r.dl)
  end
end
return 1
`;

/**
 * Opens a lane for its new writer: returns its next account nonce (empty when the record is gone),
 * its attempts in flight, and puts what the former writer had taken and not signed back.
 *
 * ARGV: lane, lease. Returns {next, attempts as a flat list} or false.
 */
export const OPEN_LANE = String.raw`${OWN}
local lane = ARGV[1]
if not owns(lane, ARGV[2]) then return false end
for _, id in ipairs(redis.call('ZRANGE', P .. 'l:' .. lane .. ':work', 0, -1)) do
  local r = settlement(id)
  if r and r.st == 'queued' and r.pl == 'work' then
    redis.call('HSET', P .. 's:' .. id, 'pl', 'ready')
    redis.call('HDEL', P .. 's:' .. id, 'wk')
    enter_ready(id, r.ch, r.pt, r.dl)
  end
end
redis.call('DEL', P .. 'l:' .. lane .. ':work')
return { redis.call('HGET', P .. 'l:' .. lane, 'next') or '', redis.call('HGETALL', P .. 'l:' .. lane .. ':attempts') }
`;

/**
 * Sets a lane's next account nonce after it was read from the chain.
 *
 * ARGV: lane, lease, next as known (empty when the record is gone), next. Returns 1 when set.
 */
export const SET_NEXT = String.raw`${OWN}
local key = P .. 'l:' .. ARGV[1]
if not owns(ARGV[1], ARGV[2]) then return 0 end
if (redis.call('HGET', key, 'next') or '') ~= ARGV[3] then return 0 end
redis.call('HSET', key, 'next', ARGV[4])
return 1
`;

/**
 * Rule 2 in one step: the account nonce is allocated, the signed bytes and their hash are stored, and
 * every settlement they carry leaves the queue. All or nothing.
 *
 * | ARGV | |
 * |---|---|
 * | 1 | lane |
 * | 2 | lease |
 * | 3 | account nonce the bytes were signed with |
 * | 4 | attempt, JSON |
 * | 5 | transaction hash |
 * | 6 | chain |
 * | 7 | seconds details are kept |
 * | 8 | gas money it may cost, gwei |
 * | 9 | budget of the lane and day, gwei, or empty |
 * | 10 | budget of a payee and day, gwei, or empty |
 * | 11 | day, as in the keys |
 * | 12.. | settlement ids |
 *
 * Returns {'ok'} | {'lost'} | {'paused'} | {'nonce', next} | {'gone', ids no longer queued here...} |
 * {'budget', 'lane'} | {'budget', payee}.
 */
export const ALLOCATE = String.raw`${OWN}
local lane, nonce, hash, chain = ARGV[1], ARGV[3], ARGV[5], ARGV[6]
if not owns(lane, ARGV[2]) then return { 'lost' } end
if is_paused(lane) then return { 'paused' } end
local lane_key = P .. 'l:' .. lane
local next_nonce = redis.call('HGET', lane_key, 'next') or ''
if next_nonce ~= nonce then return { 'nonce', next_nonce } end
local records, gone, ids = {}, { 'gone' }, {}
for i = 12, #ARGV do
  local id = ARGV[i]
  local r = settlement(id)
  if r and r.st == 'queued' and r.pl == 'work' and r.wk == lane then
    records[#records + 1] = r
    ids[#ids + 1] = id
  else
    gone[#gone + 1] = id
  end
end
if #gone > 1 then return gone end
local cost = tonumber(ARGV[8])
local function spent(subject)
  return tonumber(redis.call('GET', P .. 'g:' .. chain .. ':' .. subject .. ':' .. ARGV[11]) or '0')
end
local function spend(subject, gwei)
  local key = P .. 'g:' .. chain .. ':' .. subject .. ':' .. ARGV[11]
  redis.call('INCRBY', key, gwei)
  redis.call('EXPIRE', key, 172800)
end
if ARGV[9] ~= '' and spent(lane) + cost > tonumber(ARGV[9]) then return { 'budget', 'lane' } end
local share = #ids > 0 and math.ceil(cost / #ids) or 0
if ARGV[10] ~= '' then
  local by_payee = {}
  for _, r in ipairs(records) do by_payee[r.pt] = (by_payee[r.pt] or 0) + share end
  for payee, sum in pairs(by_payee) do
    if spent(payee) + sum > tonumber(ARGV[10]) then return { 'budget', payee } end
  end
end
local charged = {}
if ARGV[9] ~= '' then
  spend(lane, cost)
  charged[lane] = cost
end
if ARGV[10] ~= '' then
  for _, r in ipairs(records) do
    spend(r.pt, share)
    charged[r.pt] = (charged[r.pt] or 0) + share
  end
end

local at = now()
redis.call('HSET', lane_key, 'next', string.format('%.0f', tonumber(nonce) + 1))
redis.call('HSET', lane_key .. ':attempts', nonce, ARGV[4])
if next(charged) then
  local charge = { day = ARGV[11], chain = chain, cost = cost, charged = charged }
  redis.call('HSET', lane_key .. ':charges', nonce, cjson.encode(charge))
end
for i, id in ipairs(ids) do
  local r = records[i]
  redis.call('HSET', P .. 's:' .. id, 'st', 'broadcast', 'pl', '', 'ln', lane, 'an', nonce, 't2', at)
  redis.call('HDEL', P .. 's:' .. id, 'wk')
  add_hash(id, r, hash)
  redis.call('ZREM', lane_key .. ':work', id)
  leave_queue(id, r.ch, r.pt)
end
tell_all(ids, 'sent', hash)
if #ids > 0 then redis.call('SET', P .. 'x:' .. chain .. ':' .. hash, table.concat(ids, ','), 'EX', ARGV[7]) end
return { 'ok' }
`;

/**
 * Stores a transaction for an account nonce that was allocated and of which nothing is stored.
 *
 * ARGV: lane, lease, account nonce, attempt JSON. Returns 1, 0 when there is something stored or the
 * nonce was never allocated, false when the lease is lost.
 */
export const FILL_GAP = String.raw`${OWN}
local lane, nonce = ARGV[1], ARGV[3]
if not owns(lane, ARGV[2]) then return false end
local next_nonce = tonumber(redis.call('HGET', P .. 'l:' .. lane, 'next') or '0')
if tonumber(nonce) >= next_nonce then return 0 end
return redis.call('HSETNX', P .. 'l:' .. lane .. ':attempts', nonce, ARGV[4])
`;

/**
 * Stores another transaction for an account nonce that is already allocated, before it is sent.
 *
 * ARGV: lane, lease, account nonce, attempt JSON, hash, chain, seconds details are kept, ids...
 * Returns 1, or 0 when the lease or the attempt is gone.
 */
export const REPLACE = String.raw`${OWN}
local lane, nonce, hash = ARGV[1], ARGV[3], ARGV[5]
local attempts = P .. 'l:' .. lane .. ':attempts'
if not owns(lane, ARGV[2]) or redis.call('HEXISTS', attempts, nonce) == 0 then return 0 end
redis.call('HSET', attempts, nonce, ARGV[4])
local ids = {}
for i = 8, #ARGV do
  local id = ARGV[i]
  local r = settlement(id)
  if r and r.st == 'broadcast' and r.ln == lane and r.an == nonce then
    add_hash(id, r, hash)
    ids[#ids + 1] = id
  end
end
tell_all(ids, 'sent', hash)
if #ids > 0 then redis.call('SET', P .. 'x:' .. ARGV[6] .. ':' .. hash, table.concat(ids, ','), 'EX', ARGV[7]) end
return 1
`;

/**
 * A nonce is settled for good: nothing of it can land any more. Budgets were charged with the most it
 * could cost, and are now charged with what it has cost.
 *
 * ARGV: lane, lease, account nonce, gas money it has cost, gwei. Returns 1, or 0 when the lease is lost.
 */
export const CLOSE_ATTEMPT = String.raw`${OWN}
if not owns(ARGV[1], ARGV[2]) then return 0 end
local lane_key, nonce = P .. 'l:' .. ARGV[1], ARGV[3]
redis.call('HDEL', lane_key .. ':attempts', nonce)
local text = redis.call('HGET', lane_key .. ':charges', nonce)
if not text then return 1 end
redis.call('HDEL', lane_key .. ':charges', nonce)
local charge = cjson.decode(text)
local part = tonumber(ARGV[4]) / charge.cost
for subject, gwei in pairs(charge.charged) do
  local key = P .. 'g:' .. charge.chain .. ':' .. subject .. ':' .. charge.day
  -- A day that is over has nothing left to be corrected.
  if redis.call('EXISTS', key) == 1 then
    redis.call('INCRBY', key, string.format('%.0f', math.ceil(gwei * part) - gwei))
  end
end
return 1
`;

/**
 * Settlements were seen paid in a block that may still be replaced.
 *
 * ARGV: lane, lease, account nonce, hash, block number, block hash, batch size, then id, log index...
 * Returns 1, or 0 when the lease is lost.
 */
export const INCLUDE = String.raw`${OWN}
local lane, nonce = ARGV[1], ARGV[3]
if not owns(lane, ARGV[2]) then return 0 end
local at, ids = now(), {}
for i = 8, #ARGV, 2 do
  local id = ARGV[i]
  local r = settlement(id)
  if r and (r.st == 'broadcast' or r.st == 'included') and r.ln == lane and r.an == nonce then
    redis.call('HSET', P .. 's:' .. id, 'st', 'included', 'tx', ARGV[4], 'bn', ARGV[5], 'bh', ARGV[6], 'bs', ARGV[7],
      'li', ARGV[i + 1], 't4', at)
    land(id, r.ch, r.tk, r.py)
    ids[#ids + 1] = id
  end
end
tell_all(ids, 'included', ARGV[4])
return 1
`;

/**
 * A block was replaced: what it had included is on its way again.
 *
 * ARGV: lane, lease, account nonce, then id, amount in flight... Returns 1, or 0.
 */
export const UNINCLUDE = String.raw`${OWN}
local lane, nonce = ARGV[1], ARGV[3]
if not owns(lane, ARGV[2]) then return 0 end
for i = 4, #ARGV, 2 do
  local id = ARGV[i]
  local r = settlement(id)
  if r and r.st == 'included' and r.ln == lane and r.an == nonce then
    redis.call('HSET', P .. 's:' .. id, 'st', 'broadcast', 'ro', '1')
    redis.call('HDEL', P .. 's:' .. id, 'bn', 'bh', 'li', 'bs', 't4')
    take_off(id, r.ch, r.tk, r.py, ARGV[i + 1])
  end
end
return 1
`;

/**
 * Ends settlements: paid for good, or failed for good. They are those of an attempt, or such as were
 * sent before and wait in the lane's hands to be sent again.
 *
 * | ARGV | |
 * |---|---|
 * | 1 | lane |
 * | 2 | lease |
 * | 3 | account nonce of the attempt; empty for settlements in the lane's hands |
 * | 4 | seconds a tombstone is kept |
 * | 5 | seconds details are kept |
 * | 6.. | per settlement nine: id, state, paid (1 or 0), transaction, block, block hash, log, batch size, reason |
 *
 * An empty field leaves what is stored. Returns 1, or 0 when the lease is lost.
 */
export const FINISH = String.raw`${OWN}
local lane, nonce = ARGV[1], ARGV[3]
if not owns(lane, ARGV[2]) then return 0 end
local function given(text) if text == '' then return nil end return text end
local function is_ours(r)
  if nonce == '' then return r.st == 'queued' and r.pl == 'work' and r.wk == lane end
  return (r.st == 'broadcast' or r.st == 'included') and r.ln == lane and r.an == nonce
end
for i = 6, #ARGV, 9 do
  local id = ARGV[i]
  local r = settlement(id)
  if r and is_ours(r) then
    local paid = ARGV[i + 2] == '1'
    if nonce == '' then
      leave_queue(id, r.ch, r.pt)
      redis.call('ZREM', P .. 'l:' .. lane .. ':work', id)
    end
    finish(id, ARGV[i + 1], paid, { tx = given(ARGV[i + 3]), bn = given(ARGV[i + 4]), bh = given(ARGV[i + 5]),
      li = given(ARGV[i + 6]), bs = given(ARGV[i + 7]), rs = given(ARGV[i + 8]), tombstone = ARGV[4], retention = ARGV[5] })
    tell(id, paid and 'finalized' or 'failed', ARGV[i + 3], ARGV[i + 8])
  end
end
return 1
`;

/**
 * Settlements whose attempt is dead and that were neither paid nor failed go back to the queue, each
 * to be sent alone. They remember the block before their first broadcast: from there on anybody could
 * copy them.
 *
 * ARGV: lane, lease, account nonce, that block, ids... Returns 1, or 0 when the lease is lost.
 */
export const REQUEUE = String.raw`${OWN}
local lane, nonce = ARGV[1], ARGV[3]
if not owns(lane, ARGV[2]) then return 0 end
local at = now()
for i = 5, #ARGV do
  local id = ARGV[i]
  local r = settlement(id)
  if r and r.st == 'broadcast' and r.ln == lane and r.an == nonce then
    redis.call('HSETNX', P .. 's:' .. id, 'al', ARGV[4])
    redis.call('HSET', P .. 's:' .. id, 'st', 'queued', 'pl', 'ready', 'ln', '', 'an', '')
    redis.call('ZADD', P .. 'c:' .. r.ch .. ':queued', at, id)
    redis.call('HINCRBY', P .. 'c:' .. r.ch .. ':load', r.pt, 1)
    enter_ready(id, r.ch, r.pt, r.dl)
  end
end
return 1
`;

/**
 * Refuses settlements a lane has taken, before anything is signed. One that was never sent leaves no
 * record and binds no key, unless it was answered with a 202: then its asker looks it up here. One that
 * was sent before ends as reverted.
 *
 * ARGV: lane, lease, tombstone seconds, details seconds, then id, reason... Returns 1, or 0.
 */
export const REFUSE = String.raw`${OWN}
local lane = ARGV[1]
if not owns(lane, ARGV[2]) then return 0 end
for i = 5, #ARGV, 2 do
  local id, reason = ARGV[i], ARGV[i + 1]
  local r = settlement(id)
  redis.call('ZREM', P .. 'l:' .. lane .. ':work', id)
  if r and r.st == 'queued' and r.wk == lane then
    leave_queue(id, r.ch, r.pt)
    if r.hx == '' then
      local f = redis.call('HMGET', P .. 's:' .. id, 'gen', 'ks', 'as')
      if f[3] == '1' then
        redis.call('HSET', P .. 's:' .. id, 'sale', 'open', 'sa', '', 'sk', '', 'told', '')
        finish(id, 'withdrawn', false, { rs = reason, tombstone = ARGV[4], retention = ARGV[4] })
        tell(id, 'failed', '', reason)
      else
        redis.call('SET', P .. 'r:' .. id .. ':' .. f[1], reason, 'EX', 60)
        for _, key in ipairs(split(f[2] or '', ',')) do
          if redis.call('GET', P .. 'k:' .. key) == id then redis.call('DEL', P .. 'k:' .. key) end
        end
        redis.call('ZREM', P .. 'c:' .. r.ch .. ':live', id)
        land(id, r.ch, r.tk, r.py)
        redis.call('DEL', P .. 's:' .. id)
        tell(id, 'refused', '', reason .. '|' .. f[1])
        redis.call('DEL', P .. 'w:' .. id)
      end
    else
      finish(id, 'reverted', false, { rs = reason, tombstone = ARGV[3], retention = ARGV[4] })
      tell(id, 'failed', '', reason)
    end
  end
end
return 1
`;
