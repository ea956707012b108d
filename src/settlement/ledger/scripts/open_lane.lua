--- @include "lane"

-- Opens a lane for its new writer; what the former one had taken and not signed is ready again.
-- KEYS[1] epoch, KEYS[2] lane
-- ARGV[1] epoch, ARGV[2] lease
-- Returns {next account nonce or empty, attempts as name, value, ..., a list of settlements as
-- {id, stage, payment, lane nonce, tx, block, block hash, log, again}}.
for _, id in ipairs(redis.call('ZRANGE', lane_key .. ':work', 0, -1)) do
  local r = read(record_key(id))
  if r and is_in_work(r) then advance(r, 'given_back', 'lane', '') end
end
redis.call('DEL', lane_key .. ':work')
local attempts = redis.call('HGETALL', lane_key .. ':attempts')
local settlements = {}
for i = 2, #attempts, 2 do
  for _, id in ipairs(cjson.decode(attempts[i]).settlementIds) do
    local f = redis.call('HMGET', record_key(id), 'stage', 'payment', 'lane', 'lane_nonce', 'tx', 'block', 'block_hash', 'log', 'again')
    if f[1] and f[2] and f[3] == lane then
      settlements[#settlements + 1] = { id, f[1], f[2], f[4] or '', f[5] or '', f[6] or '', f[7] or '', f[8] or '', f[9] or '' }
    end
  end
end
return { redis.call('HGET', lane_key, 'next') or '', attempts, settlements }
