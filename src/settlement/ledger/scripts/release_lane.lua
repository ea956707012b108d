--- @include "lane"

-- Gives a lane up; what its writer had taken and not signed is ready again for the next one.
-- KEYS[1] epoch, KEYS[2] lane
-- ARGV[1] epoch, ARGV[2] lease
-- Returns 1.
redis.call('DEL', lane_key .. ':lease')
redis.call('HDEL', lane_key, 'writer', 'renewed')
return 1
