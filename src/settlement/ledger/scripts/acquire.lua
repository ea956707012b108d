--- @include "ledger"

-- Takes a free lane, or one that the same process holds already.
-- KEYS[1] epoch, KEYS[2] lease of the lane
-- ARGV[1] epoch, ARGV[2] process, ARGV[3] lease, ms
-- Returns the lease, or an empty string while another process holds it.
local found = redis.call('GET', KEYS[2])
if found and string.match(found, '^[^:]*') ~= ARGV[2] then return '' end
local t = redis.call('TIME')
local lease = ARGV[2] .. ':' .. t[1] .. string.format('%06d', t[2])
redis.call('SET', KEYS[2], lease, 'PX', ARGV[3])
return lease
