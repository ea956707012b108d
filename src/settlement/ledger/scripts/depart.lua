--- @include "ledger"

-- A process that has ended all its work is waited for no more. This is its last write: a ledger that goes back and still
-- knows of it has everything that the process wrote before.
-- KEYS[1] epoch, KEYS[2] speakers, KEYS[3] awaited
-- ARGV[1] epoch, ARGV[2] process
-- Returns whether it was waited for.
redis.call('HDEL', KEYS[2], ARGV[2])
return redis.call('SREM', KEYS[3], ARGV[2])
