--- @include "ledger"

-- The compare-and-set that comes before any answer of success, or of 202.
-- KEYS[1] epoch, KEYS[2] record
-- ARGV[1] epoch, ARGV[2] requester, ARGV[3] its key tag or empty, ARGV[4] `included`, `finalized` or `async` (a 202),
-- ARGV[5] grace of the sale, ms, ARGV[6] ms after a ledger went back in which nothing is sold in any case,
-- ARGV[7..] its credentials
-- Returns {'sold' | 'lost' (sold to another, or kept for its key) | 'unpaid' | 'not_eligible' | 'not_yet' | 'over' (ended unpaid), view} |
-- {'gone'}.
local requester, key, finality = ARGV[2], ARGV[3], ARGV[4]
local r = read_sale(KEYS[2])
if not r then return { 'gone' } end
local function answer(kind)
  return { kind, view_of(r) }
end
local is_paid = r.paid or r.stage == 'included'
if finality == 'finalized' and r.stage == 'included' then is_paid = false end
local is_async = finality == 'async'
if is_async and is_over_unpaid(r) then return answer('over') end
-- Where no goods depend on it, each requester may be answered with 202, also one without the sale: then it is not withdrawn.
if is_async and takes_nothing(r.kind) and not r.async and redis.call('HEXISTS', r.redis_key, 't_finished') == 0 then
  r.async, r.accepted = true, true
  put(r, 'async', '1')
end
if r.sale == 'sold' then
  if not is_sold_to(r, requester, key) then return answer('lost') end
  if not is_paid and not is_async then return answer('unpaid') end
  -- A second requester of one key: a sale that two got cannot be rolled back by one of them.
  if r.sold_to ~= requester then put(r, 'kept', '1') end
  if is_paid and not r.told then put(r, 'told', '1') end
  redis.call('ZREM', waiters_key(r.id), requester)
  return answer('sold')
end
if not is_paid and not is_async then return answer('unpaid') end
local grace_ms = tonumber(ARGV[5])
if r.key ~= '' and r.key ~= key then
  -- For the holder of the key alone, whenever it comes. Who else asks has no sale to wait for.
  return answer(is_past_grace(r, grace_ms) and 'lost' or 'not_eligible')
end
if not is_eligible(r, grace_ms, ARGV, 7) then return answer('not_eligible') end
-- A newer claim as well: another claim of its authorization may be lost, and sold.
if is_awaiting(tonumber(ARGV[6])) then return answer('not_yet') end
-- The ledger lost a claim, and this one was made before the sale of the lost one was replayed.
if acknowledged_to_another(r.auth, requester, key) or is_sold_by_another_claim(r, requester, key) then return answer('lost') end
if r.paid then leave_unsold(r) end
r.accepted = r.accepted or is_async
put(r, 'sale', 'sold', 'sold_to', requester, 'sold_key', key, 'told', is_paid and '1' or '', 'async',
  is_async and '1' or (r.async and '1' or ''))
redis.call('HSET', index_key(r.auth), 'sold', r.id)
-- The only waiter needs no news of its own sale, and is forgotten at the end of the record.
if not is_of_one(r) or requester ~= r.by then
  redis.call('ZREM', waiters_key(r.id), requester)
  publish(r, 'sold')
end
return answer('sold')
