--- @include "ledger"

-- After a ledger went back: replays a withdrawal whose requester was answered that nothing was sent or would be.
-- KEYS[1] epoch, KEYS[2] record
-- ARGV[1] epoch, ARGV[2] reason in that answer, ARGV[3] seconds a finished record is kept,
-- ARGV[4] seconds details are kept
-- Returns 1 where nothing of it is sent, 0 where it is too late: something was signed for it, or it was acknowledged
-- with success or 202.
local r = read_sale(KEYS[2])
if not r or (is_early(r) and is_over_unpaid(r)) then return 1 end
if not is_early(r) or r.async or r.told or not can(r, 'withdrawn') then return 0 end
note_return()
conclude(r, 'withdrawn', { reason = ARGV[2] }, { tombstone = ARGV[3], retention = ARGV[4] })
return 1
