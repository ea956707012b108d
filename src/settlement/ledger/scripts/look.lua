--- @include "ledger"

-- Everything the ledger knows that bears on judging a payment.
-- KEYS[1] epoch, KEYS[2] index of the authorization, KEYS[3] what the payer has in flight,
-- KEYS[4...] reverts of each that its failures are held against
-- ARGV[1] epoch, ARGV[2] authorization id
-- Returns {id (empty: no claim is known), view, 1 where a living requester waits for it, in flight: totals of
-- balance, allowance and sponsored permits, this authorization's own entry, and the claims of a receiver, the most reverts of one, {key tag of the requester that
-- has an answer for a claim that the ledger lost} or {}, 1 where the ledger ever went back}.
local index = redis.call('HMGET', KEYS[2], 'sold', 'live', 'last')
local id, found, waiting = '', {}, 0
for i = 1, 3 do
  if index[i] and redis.call('EXISTS', record_key(index[i])) == 1 then
    id = index[i]
    found = view(record_key(id))
    if living_waiters(id) > 0 then waiting = 1 end
    break
  end
end
local totals = redis.call('HMGET', KEYS[3], '_b', '_p', '_s', ARGV[2], '_c')
local in_flight = { totals[1] or '0', totals[2] or '0', totals[3] or '0', totals[4] or '', totals[5] or '0' }
local counted = redis.call('MGET', prefix .. 't:' .. ARGV[2], unpack(KEYS, 4))
local lost, reverts = read_lost_sale(counted[1]), 0
for i = 2, #counted do reverts = math.max(reverts, tonumber(counted[i] or '0')) end
return { id, found, waiting, in_flight, tostring(reverts), { lost and lost.sold_key }, has_gone_back() and 1 or 0 }
