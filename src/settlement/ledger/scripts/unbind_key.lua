-- Gives an idempotency key up that this requester bound, and whose claim was refused or withdrawn.
-- KEYS[1] idempotency key
-- ARGV[1] binding: `<payment>|<requester>`
-- Returns 1 where it was unbound, else 0.
local found = redis.call('GET', KEYS[1])
if not found or string.match(found, '^([^|]*|[^|]*)|%d+$') ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])
