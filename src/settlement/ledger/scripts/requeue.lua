--- @include "lane"

-- Settlements whose attempt is dead and that were neither paid nor failed go back to the queue, each to be sent
-- alone. They remember the block before their first broadcast: from there on anybody could copy them.
-- KEYS[1] epoch, KEYS[2] lane, KEYS[3..] records
-- ARGV[1] epoch, ARGV[2] lease, ARGV[3] account nonce, ARGV[4] that block
-- Returns 1.
for i = 3, #KEYS do
  local r = read(KEYS[i])
  if r and r.stage == 'attempt' and is_bound(r, ARGV[3]) then
    redis.call('HSETNX', r.redis_key, 'since', ARGV[4])
    advance(r, 'finalized_unpaid_requeue', 'lane', '', 'lane_nonce', '')
  end
end
return 1
