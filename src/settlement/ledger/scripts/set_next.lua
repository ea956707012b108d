--- @include "lane"

-- Sets a lane's next account nonce after it was read from the chain.
-- KEYS[1] epoch, KEYS[2] lane
-- ARGV[1] epoch, ARGV[2] lease, ARGV[3] next as known (empty when the record is gone), ARGV[4] next
-- Returns 1 when set, else 0.
if (redis.call('HGET', lane_key, 'next') or '') ~= ARGV[3] then return 0 end
redis.call('HSET', lane_key, 'next', ARGV[4])
return 1
