--- @include "ledger"

-- Takes a payment off the list of those paid and not delivered: an operator has delivered or refunded it by hand. Its
-- sale stays open, so the seller's own repeat still gets success.
-- KEYS[1] epoch, KEYS[2] record, KEYS[3] audit
-- ARGV[1] epoch, ARGV[2] entry of the audit, or empty without a history, ARGV[3] most entries that the audit keeps
-- Returns 1 where it was on the list, else 0.
local id = string.sub(KEYS[2], #prefix + 3)
local was_listed = redis.call('ZREM', prefix .. 'unclaimed', id) == 1
local was_unclaimed = redis.call('HDEL', KEYS[2], 't_unclaimed') == 1
if not was_listed and not was_unclaimed then return 0 end
if was_unclaimed then note_change(read_sale(KEYS[2])) end
if ARGV[2] ~= '' then redis.call('XADD', KEYS[3], 'MAXLEN', '~', ARGV[3], '*', 'entry', ARGV[2]) end
return 1
