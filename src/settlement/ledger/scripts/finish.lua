--- @include "lane"
--- @include "endings"

-- Ends settlements: paid for good, or failed for good. They are those of an attempt, or such as were sent before
-- and wait in the lane's hands to be sent again.
-- KEYS[1] epoch, KEYS[2] lane, KEYS[3..] records
-- ARGV[1] epoch, ARGV[2] lease, ARGV[3] account nonce of the attempt; empty for settlements in the lane's hands,
-- ARGV[4] seconds a finished record is kept, ARGV[5] seconds details are kept, ARGV[6..] an ending for each record
-- Returns ids that have not ended: they are resubmitted, by this step or by one whose reply was lost.
local nonce, life, again = ARGV[3], { tombstone = ARGV[4], retention = ARGV[5] }, {}
begin_batch()
for i = 3, #KEYS do
  local r = read_whole(KEYS[i])
  local is_ours = r and (nonce == '' and is_in_work(r) or nonce ~= '' and is_bound(r, nonce))
  if is_ours and end_record(r, 6 + (i - 3) * ENDING, life) == 'again' then
    local attempt = nonce ~= '' and redis.call('HGET', lane_key .. ':attempts', nonce)
    if attempt then redis.call('HSETNX', r.redis_key, 'since', cjson.decode(attempt).allocatedAtBlock) end
  end
  if is_unfinished(r) then again[#again + 1] = r.id end
end
end_batch()
return again
