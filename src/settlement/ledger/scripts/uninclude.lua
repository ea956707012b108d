--- @include "lane"

-- A block was replaced: what it had included is on its way again.
-- KEYS[1] epoch, KEYS[2] lane, KEYS[3..] records
-- ARGV[1] epoch, ARGV[2] lease, ARGV[3] account nonce
-- Returns 1.
for i = 3, #KEYS do
  local r = read(KEYS[i])
  if r and is_bound(r, ARGV[3]) and advance(r, 'block_replaced') then
    redis.call('HDEL', r.redis_key, 'block', 'block_hash', 'log', 'batch', 't_included')
  end
end
return 1
