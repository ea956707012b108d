--- @include "ledger"

-- Forgets what is archived.
-- KEYS[1] epoch
-- ARGV[1] epoch, ARGV[2] id of the last entry that is archived
-- Returns how many entries were forgotten.
local ms, sequence = string.match(ARGV[2], '^(%d+)%-(%d+)$')
return redis.call('XTRIM', outbox, 'MINID', ms .. '-' .. string.format('%.0f', tonumber(sequence) + 1))
