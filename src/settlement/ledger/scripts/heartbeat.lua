--- @include "ledger"

-- A process that answers requesters shows that it lives, and whether it has replayed the answers it gave before the
-- ledger went back.
-- KEYS[1] epoch, KEYS[2] speakers, KEYS[3] awaited
-- ARGV[1] epoch, ARGV[2] process, ARGV[3] `1` where it has replayed everything, ARGV[4] ms of silence after which a
-- process is forgotten
-- Returns how many are awaited.
local silent_since = now() - tonumber(ARGV[4])
local flat = redis.call('HGETALL', KEYS[2])
for i = 1, #flat, 2 do
  if tonumber(flat[i + 1]) < silent_since then redis.call('HDEL', KEYS[2], flat[i]) end
end
redis.call('HSET', KEYS[2], ARGV[2], string.format('%.0f', now()))
if ARGV[3] == '1' then redis.call('SREM', KEYS[3], ARGV[2]) end
return redis.call('SCARD', KEYS[3])
