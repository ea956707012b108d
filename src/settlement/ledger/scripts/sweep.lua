--- @include "ledger"
--- @include "expiry"

-- Makes ready what waited for its time, and ends what is queued past its deadline: nothing was ever signed for
-- it, so nothing of it can land.
-- KEYS[1] epoch, KEYS[2] later, KEYS[3] deadlines
-- ARGV[1] epoch, ARGV[2] most, ARGV[3] channel of work, ARGV[4] ms after a deadline,
-- ARGV[5] seconds a finished record is kept, ARGV[6] seconds details are kept
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
    -- What was sent before is judged by a lane: somebody may have copied it.
    redis.call('ZREM', KEYS[3], id)
  elseif r.stage ~= 'work' then
    local named = redis.call('HMGET', r.redis_key, 'scheme', 'method')
    local reason = expiry_reason(named[1], named[2])
    if conclude(r, 'expired', { reason = reason }, { tombstone = ARGV[5], retention = ARGV[6] }) then out[#out + 1] = id end
  end
end
out[1] = count
return out
