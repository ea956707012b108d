--- @include "lane"

-- Refuses settlements a lane has taken, before anything is signed. One that was never sent leaves the answer for a
-- moment and nothing else; one that was sent before ends as reverted; one that is being resubmitted is put off, and
-- ends at its deadline, or after some tries where it has none.
-- KEYS[1] epoch, KEYS[2] lane, KEYS[3..] records
-- ARGV[1] epoch, ARGV[2] lease, ARGV[3] seconds a finished record is kept, ARGV[4] seconds details are kept,
-- ARGV[5..] reasons, one a record
-- Returns 1.
local life = { tombstone = ARGV[3], retention = ARGV[4] }
for i = 3, #KEYS do
  local r = read(KEYS[i])
  if r and is_in_work(r) then
    local reason = ARGV[i + 2]
    local is_untried = BLAMELESS[reason]
    if is_early(r) then
      conclude(r, 'refused', { reason = reason }, life)
    elseif not is_owed(r, is_untried) then
      conclude(r, 'finalized_unpaid_reverted', { reason = reason }, life)
    elseif now() > tonumber(r.deadline) * 1000 then
      conclude(r, 'expired', { reason = reason }, life)
    elseif is_untried then
      put_off(r)
    else
      resubmit(r)
    end
  end
end
return 1
