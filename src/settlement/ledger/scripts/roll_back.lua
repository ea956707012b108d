--- @include "ledger"

-- A response that sold did not finish: the sale is open again, unless another requester of the same key got it.
-- KEYS[1] epoch, KEYS[2] record, KEYS[3] lost sale of the authorization
-- ARGV[1] epoch, ARGV[2] requester, ARGV[3] seconds a finished record is kept, ARGV[4] seconds details are kept,
-- ARGV[5] ms after a ledger went back within which a claim may have been signed for before
-- Returns 1 where it was rolled back, else 0.
local lost = lost_sale(string.match(KEYS[3], '[^:]*$'))
if lost and lost.sold_to == ARGV[2] and not lost.kept then redis.call('DEL', KEYS[3]) end
local r = read_sale(KEYS[2])
if not r then
  -- The ledger lost the claim, and another one may have been made for its requester since.
  local sold = redis.call('HGET', index_key(string.match(KEYS[3], '[^:]*$')), 'sold')
  r = sold and read_sale(record_key(sold))
end
if not r or r.sale ~= 'sold' or r.sold_to ~= ARGV[2] or r.kept then return 0 end
-- The 202 of an action on which no goods depend may have been given to others, too: it is not withdrawn.
r.async = r.async and takes_nothing(r.kind)
-- The history keeps that it was once accepted by a 202.
put(r, 'sale', 'open', 'sold_to', '', 'sold_key', '', 'told', '', 'async', r.async and '1' or (r.accepted and '0' or ''))
local index = redis.call('HMGET', index_key(r.auth), 'sold', 'live')
if index[1] == r.id then
  if index[2] ~= r.id then redis.call('HSET', index_key(r.auth), 'last', r.id) end
  redis.call('HDEL', index_key(r.auth), 'sold')
end
redis.call('ZREM', waiters_key(r.id), ARGV[2])
if r.paid then enter_unsold(r, r.tx) end
if is_early(r) and not r.async and can(r, 'withdrawn') and living_waiters(r.id) == 0 and not is_unsure(r, tonumber(ARGV[5])) then
  withdraw(r, { tombstone = ARGV[3], retention = ARGV[4] })
else
  publish(r, 'open')
end
return 1
