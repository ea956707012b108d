--- @include "lane"

-- Stores a transaction for an account nonce that was allocated and of which nothing is stored.
-- KEYS[1] epoch, KEYS[2] lane
-- ARGV[1] epoch, ARGV[2] lease, ARGV[3] account nonce, ARGV[4] attempt, JSON
-- Returns 1, or 0 when there is something stored or the nonce was never allocated.
local next_nonce = tonumber(redis.call('HGET', lane_key, 'next') or '0')
if tonumber(ARGV[3]) >= next_nonce then return 0 end
redis.call('SADD', prefix .. 'lanes', lane)
return redis.call('HSETNX', lane_key .. ':attempts', ARGV[3], ARGV[4])
