-- Takes an idempotency key over from a payment of which nothing is left.
-- KEYS[1] idempotency key
-- ARGV[1] value it must still have, ARGV[2] new binding: `<payment>|<requester>`, ARGV[3] seconds it is kept
-- Returns 1 where it was taken over, also earlier by the same requester, else 0.
local found = redis.call('GET', KEYS[1]) or ''
if string.match(found, '^([^|]*|[^|]*)|%d+$') == ARGV[2] then return 1 end
if found ~= ARGV[1] then return 0 end
local t = redis.call('TIME')
redis.call('SET', KEYS[1], ARGV[2] .. '|' .. (t[1] * 1000 + math.floor(t[2] / 1000)), 'EX', ARGV[3])
return 1
