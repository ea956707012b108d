--- @include "ledger"

-- Parked settlements whose time has come; they are the caller's for a while.
-- KEYS[1] epoch, KEYS[2] parked
-- ARGV[1] epoch, ARGV[2] most, ARGV[3] ms they are the caller's
-- Returns a flat list of id, payment, why, tries, block before the first broadcast, transactions, the
-- transaction that has failed or empty.
local at, out = now(), {}
for _, id in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], 0, at, 'LIMIT', 0, ARGV[2])) do
  local f = redis.call('HMGET', record_key(id), 'stage', 'payment', 'why', 'tries', 'since', 'hashes', 'failed')
  if f[1] == 'parked' then
    redis.call('ZADD', KEYS[2], at + tonumber(ARGV[3]), id)
    out[#out + 1] = id
    for i = 2, 7 do out[#out + 1] = f[i] or '' end
  else
    redis.call('ZREM', KEYS[2], id)
  end
end
return out
