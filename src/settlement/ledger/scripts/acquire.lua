--- @include "ledger"

-- Takes a free lane, or one that the same process holds already.
-- KEYS[1] epoch, KEYS[2] lease of the lane
-- ARGV[1] epoch, ARGV[2] process, ARGV[3] lease, ms
-- Returns {the lease, process that had the lane and did not release it, ms since its last renewal}, without the latter
-- two for a lane that was released; or {} while another process holds it.
local found = redis.call('GET', KEYS[2])
if found and string.match(found, '^[^:]*') ~= ARGV[2] then return {} end
local t = redis.call('TIME')
local lease = ARGV[2] .. ':' .. t[1] .. string.format('%06d', t[2])
redis.call('SET', KEYS[2], lease, 'PX', ARGV[3])
local lane_key = string.sub(KEYS[2], 1, -7)
local former = redis.call('HMGET', lane_key, 'writer', 'renewed')
redis.call('HSET', lane_key, 'writer', ARGV[2], 'renewed', string.format('%.0f', now()))
if not former[1] or former[1] == ARGV[2] then return { lease } end
return { lease, former[1], math.max(0, now() - tonumber(former[2])) }
