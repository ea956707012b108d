--- @include "ledger"

-- A record and its details, at one moment.
-- KEYS[1] epoch, KEYS[2] record
-- ARGV[1] epoch
-- Returns {fields of the record: name, value, ..., details JSON or empty}.
return { redis.call('HGETALL', KEYS[2]), redis.call('GET', prefix .. 'd:' .. string.sub(KEYS[2], #prefix + 3)) or '' }
