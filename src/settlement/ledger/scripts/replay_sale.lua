--- @include "ledger"

-- After a ledger went back: replays a sale where the ledger has lost it. Where the claim is lost, too, the ledger
-- stores the requester with the sale, so that no other one adopts, claims or buys it.
-- KEYS[1] epoch, KEYS[2] record, KEYS[3] lost sale of the authorization
-- ARGV[1] epoch, ARGV[2] requester, ARGV[3] its key tag or empty, ARGV[4] `1` for a 202, ARGV[5] seconds a lost sale is kept
-- Returns 1 where it is sold to that requester now, or ended unpaid without acknowledged success; else 0.
local requester, key = ARGV[2], ARGV[3]
local r, lost = read_sale(KEYS[2]), lost_sale(string.match(KEYS[3], '[^:]*$'))
local is_own = lost and is_sold_to(lost, requester, key)
-- A sale to two requesters of one key cannot be taken back by one of them.
local is_kept = is_own and (lost.kept or lost.sold_to ~= requester)
if not r then
  note_return()
  if is_own and is_kept then
    redis.call('SET', KEYS[3], lost.sold_to .. '|' .. lost.sold_key .. '|', 'EX', ARGV[5])
  elseif not lost then
    redis.call('SET', KEYS[3], requester .. '|' .. key, 'EX', ARGV[5])
  end
  return 0
end
if r.sale == 'sold' and not is_sold_to(r, requester, key) then return 0 end
-- The record itself holds the requester from here on.
if is_own then redis.call('DEL', KEYS[3]) end
-- The accepted claim ended unpaid: another claim of the authorization may be the one that counts.
if ARGV[4] == '1' and is_over_unpaid(r) then return 1 end
if r.sale == 'sold' then
  if (is_kept or r.sold_to ~= requester) and not r.kept then put(r, 'kept', '1') end
  return 1
end
if r.paid then leave_unsold(r) end
r.accepted = r.accepted or ARGV[4] == '1'
put(r, 'sale', 'sold', 'sold_to', requester, 'sold_key', key, 'kept', is_kept and '1' or '',
  'told', ARGV[4] == '1' and '' or '1', 'async', ARGV[4])
redis.call('HSET', index_key(r.auth), 'sold', r.id)
publish(r, 'sold')
return 1
