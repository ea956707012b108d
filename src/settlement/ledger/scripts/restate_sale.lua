--- @include "ledger"

-- After a ledger went back: says again what was sold, where it does not say so itself. Of a claim that it does not have
-- it keeps who was told, so that nobody else adopts, claims or buys it.
-- KEYS[1] epoch, KEYS[2] record, KEYS[3] lost sale of the authorization
-- ARGV[1] epoch, ARGV[2] requester, ARGV[3] its key tag or empty, ARGV[4] `1` for a 202, ARGV[5] seconds a lost sale is kept
-- Returns 1 where it is sold to that requester now, or ended unpaid with nobody told of success; else 0.
local r = read_sale(KEYS[2])
if not r then
  redis.call('SET', KEYS[3], ARGV[2] .. '|' .. ARGV[3], 'EX', ARGV[5], 'NX')
  return 0
end
-- The record itself says from here on who was told.
if redis.call('GET', KEYS[3]) == ARGV[2] .. '|' .. ARGV[3] then redis.call('DEL', KEYS[3]) end
-- What was handed out has come to nothing: another claim of the authorization may be the one that counts.
if ARGV[4] == '1' and is_over_unpaid(r) then return 1 end
if r.sale == 'sold' then return is_sold_to(r, ARGV[2], ARGV[3]) and 1 or 0 end
r.handed_out = r.handed_out or ARGV[4] == '1'
put(r, 'sale', 'sold', 'sold_to', ARGV[2], 'sold_key', ARGV[3], 'told', ARGV[4] == '1' and '' or '1',
  'async', ARGV[4])
redis.call('HSET', index_key(r.auth), 'sold', r.id)
if r.paid then leave_unsold(r.id) end
publish(r.id, 'sold')
return 1
