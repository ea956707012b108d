--- @include "ledger"

-- Takes a payment off the list of those paid and not delivered: an operator has delivered or refunded it by hand. Its
-- sale stays open, so the seller's own repeat still gets success. It is not listed again where that answer does not arrive.
-- KEYS[1] epoch, KEYS[2] record, KEYS[3] audit
-- ARGV[1] epoch, ARGV[2] entry of the audit, or empty without a history, ARGV[3] most entries that the audit keeps
-- Returns 1 where it was on the list or was closed before, 0 where it was not, -1 where there is no record of it.
local id = string.sub(KEYS[2], #prefix + 3)
local was_listed = redis.call('ZREM', prefix .. 'unclaimed', id) == 1
-- A member without a record leaves the count all the same. Whether it was paid the history knows.
if redis.call('EXISTS', KEYS[2]) == 0 then return -1 end
local was_unclaimed = redis.call('HDEL', KEYS[2], 't_unclaimed') == 1
-- A repeat, because the reply to the first was lost, changes nothing.
if not was_listed and not was_unclaimed then return redis.call('HEXISTS', KEYS[2], 't_closed') end
put(read_sale(KEYS[2]), 't_closed', string.format('%.0f', now()))
if ARGV[2] ~= '' then redis.call('XADD', KEYS[3], 'MAXLEN', '~', ARGV[3], '*', 'entry', ARGV[2]) end
return 1
