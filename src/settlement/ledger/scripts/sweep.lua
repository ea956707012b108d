--- @include "ledger"
--- @include "expiry"

-- Makes ready what waited for its time, and ends what is queued past its deadline: nothing was ever signed for
-- it, so nothing of it can land. Notes what is paid and has had no sale for too long.
-- KEYS[1] epoch, KEYS[2] later, KEYS[3] deadlines
-- ARGV[1] epoch, ARGV[2] most, ARGV[3] channel of work, ARGV[4] ms after a deadline,
-- ARGV[5] seconds a finished record is kept, ARGV[6] seconds details are kept, ARGV[7] ms that a final payment may be without a sale,
-- ARGV[8] ms after a ledger went back in which processes may say again what they sold
-- Returns {how many became ready, ids that expired...}.
local at, count = now(), 0
for _, id in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], 0, at, 'LIMIT', 0, ARGV[2])) do
  local r = read(record_key(id))
  if r and advance(r, 'due') then count = count + 1 else redis.call('ZREM', KEYS[2], id) end
end
if count > 0 then redis.call('PUBLISH', ARGV[3], '') end
local out = { 0 }
local before = math.floor((at - tonumber(ARGV[4])) / 1000)
for _, id in ipairs(redis.call('ZRANGEBYSCORE', KEYS[3], 0, before, 'LIMIT', 0, ARGV[2])) do
  local r = read(record_key(id))
  if not r or not is_early(r) then
    -- A settlement that was sent before is left to a lane: a copier may have paid it.
    redis.call('ZREM', KEYS[3], id)
  elseif r.stage ~= 'work' then
    local named = redis.call('HMGET', r.redis_key, 'scheme', 'method')
    local reason = expiry_reason(named[1], named[2])
    if conclude(r, 'expired', { reason = reason }, { tombstone = ARGV[5], retention = ARGV[6] }) then out[#out + 1] = id end
  end
end
out[1] = count

local unsold, unclaimed = prefix .. 'unsold', prefix .. 'unclaimed'
local until_ms = string.format('%.0f', at - tonumber(ARGV[7]))
-- A sale whose writes were lost is replayed by the process that made it.
local most = is_awaiting(tonumber(ARGV[8])) and 0 or tonumber(ARGV[2])
local late = redis.call('ZRANGEBYSCORE', unsold, '-inf', until_ms, 'WITHSCORES', 'LIMIT', 0, most)
for i = 1, #late, 2 do
  local id = late[i]
  redis.call('ZREM', unsold, id)
  local r = read_sale(record_key(id))
  local is_open = r and r.paid and r.sale == 'open' and not is_sold_by_another_claim(r, '', '')
  local lost = is_open and lost_sale(r.auth)
  if lost then
    -- The requester that has success of a lost claim has bought it.
    put(r, 'sale', 'sold', 'sold_to', lost.sold_to, 'sold_key', lost.sold_key, 'kept', lost.kept and '1' or '',
      'told', '1')
    redis.call('HSET', index_key(r.auth), 'sold', id)
    publish(r, 'sold')
  elseif is_open and redis.call('HEXISTS', r.redis_key, 't_closed') == 0 then
    -- What an operator closed stays closed: it may be refunded, and a later sale may be rolled back.
    redis.call('ZADD', unclaimed, late[i + 1], id)
    put(r, 't_unclaimed', at)
  end
end
-- The records, or their details, are gone by then.
local kept_ms = math.min(tonumber(ARGV[5]), tonumber(ARGV[6])) * 1000
redis.call('ZREMRANGEBYSCORE', unclaimed, '-inf', string.format('%.0f', at - kept_ms))
return out
