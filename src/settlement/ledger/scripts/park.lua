--- @include "lane"

-- Settlements whose outcome cannot be read now leave the lane; a background task asks for it again.
-- KEYS[1] epoch, KEYS[2] lane, KEYS[3..] records
-- ARGV[1] epoch, ARGV[2] lease, ARGV[3] account nonce of their attempt, which is final; empty for settlements in
-- the lane's hands, ARGV[4] a block before they were first broadcast, ARGV[5..] why, when (ms) and the transaction of
-- its attempt that has failed, or empty: three a record
-- Returns 1.
local nonce = ARGV[3]
for i = 3, #KEYS do
  local r = read(KEYS[i])
  if r and (nonce == '' and is_in_work(r) or nonce ~= '' and is_bound(r, nonce)) then
    local from = 5 + (i - 3) * 3
    redis.call('HSETNX', r.redis_key, 'since', ARGV[4])
    r.due_at = tonumber(ARGV[from + 1])
    advance(r, 'parked', 'lane', '', 'lane_nonce', '', 'why', ARGV[from], 'tries', 0, 'failed', ARGV[from + 2])
  end
end
return 1
