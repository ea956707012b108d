--- @include "ledger"

-- Settlements claimed some time ago whose job did not bring them here.
-- KEYS[1] epoch, KEYS[2] pending
-- ARGV[1] epoch, ARGV[2] least age, ms, ARGV[3] most
-- Returns ids.
return redis.call('ZRANGEBYSCORE', KEYS[2], 0, now() - tonumber(ARGV[2]), 'LIMIT', 0, ARGV[3])
