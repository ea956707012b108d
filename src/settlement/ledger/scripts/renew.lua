--- @include "lane"

-- KEYS[1] epoch, KEYS[2] lane
-- ARGV[1] epoch, ARGV[2] lease, ARGV[3] ms
-- Returns 1.
redis.call('PEXPIRE', lane_key .. ':lease', ARGV[3])
redis.call('HSET', lane_key, 'renewed', string.format('%.0f', now()))
return 1
