--- @include "ledger"

-- Makes the record of a payment that was judged good. The same requester may repeat it. Of one that needs no
-- transaction the record is finished at once: it is paid, and to be sold.
-- KEYS[1] epoch, KEYS[2] record, KEYS[3] index of the authorization, KEYS[4] in flight, KEYS[5] newest of the payer
-- ARGV[1] epoch, ARGV[2] requester, ARGV[3] its key tag or empty, ARGV[4] authorization id,
-- ARGV[5] the payer's balance where the judgement read it, else empty, ARGV[6] what it approved for such payments, likewise,
-- ARGV[7] most settlements queued, ARGV[8] seconds the payer's newest are kept, ARGV[9] `1` for a 202,
-- ARGV[10] `1` for a payment that needs no transaction, else empty,
-- ARGV[11] ms after a ledger went back in which no 202 is given in any case,
-- ARGV[12] number of record fields that follow, then those: name, value, ..., then the requester's credentials
-- Returns {'claimed', queued} | {'acknowledged_to_another', queued}: claimed for the requester that had an answer before the ledger
-- lost it, or sold to another since | {'known'} | {'queue_full', queued} | {'in_flight_changed'} | {'permit_in_flight'}
-- | {'had_its_place'} | {'not_yet'} (a 202 sells, and processes may still have to replay their sales).
local requester, key, authorization, is_accepted = ARGV[2], ARGV[3], ARGV[4], ARGV[9] == '1'
local queued = length_of(prefix .. 'queued')
local earlier = read_sale(KEYS[2])
if earlier then
  -- The reply was lost, and the sale may have changed since.
  if earlier.sale == 'sold' then
    return { is_sold_to(earlier, requester, key) and 'claimed' or 'acknowledged_to_another', queued }
  end
  -- It was taken back by the requester that it was claimed for. `redeem.lua` sells it, to one.
  if is_accepted and not is_over_unpaid(earlier) then return { 'known' } end
  return { 'claimed', queued }
end
local index = redis.call('HMGET', KEYS[3], 'live', 'sold', 'last')
for i = 1, 2 do
  if index[i] and redis.call('EXISTS', record_key(index[i])) == 1 then return { 'known' } end
end
if index[3] then
  local last = redis.call('HMGET', record_key(index[3]), 'stage', 'paid')
  if last[1] == 'foreign' or last[2] == '1' then return { 'known' } end
end
local needs_nothing = ARGV[10] ~= ''
local fields_end = 12 + tonumber(ARGV[12])
local made, early = 'claimed', table.concat(ARGV, ',', fields_end + 1)
local lost = acknowledged_to_another(authorization, requester, key)
if lost then
  -- Collected for the requester that had the answer: otherwise the payment would be lost.
  made, requester, key, is_accepted, early = 'acknowledged_to_another', lost.sold_to, lost.sold_key, true, ''
elseif is_accepted and is_awaiting(tonumber(ARGV[11])) then
  -- The ledger may have lost a claim of it that was answered with a 202.
  return { 'not_yet' }
end
local record = {}
for i = 13, fields_end, 2 do record[ARGV[i]] = ARGV[i + 1] end
local totals = redis.call('HMGET', KEYS[4], '_b', '_p', '_s', authorization)
local function fits(in_flight, limit)
  if (in_flight or '0') == '0' or takes_nothing(record.kind) then return true end
  return limit ~= '' and not decimal_less(limit, decimal_add(in_flight, record.amount))
end
if not needs_nothing then
  if not fits(totals[1], ARGV[5]) then return { 'in_flight_changed' } end
  if record.kind == 'p' and not fits(totals[2], ARGV[6]) then return { 'in_flight_changed' } end
  if record.kind == 's' and tonumber(totals[3] or '0') > 0 then return { 'permit_in_flight' } end
  if record.kind == 'a' and redis.call('EXISTS', own_transaction_key(record.payer)) == 1 then return { 'permit_in_flight' } end
  local most, line, share = tonumber(ARGV[7]), queued, charged_to(record)
  if record.kind == 'a' then
    if had_its_place(authorization) or had_its_place(record.payer) then return { 'had_its_place' } end
    -- Settlements that need preparation queue by themselves, with a share for each asset.
    most, line, share = math.ceil(most / 4), length_of(prefix .. 'sponsored'), OWN .. record.asset
  end
  if line >= most then return { 'queue_full', line } end
  -- A share is a part of the line.
  local own = line >= most / 4 and load_of(share) or 0
  if own >= most / 4 and line > own then return { 'queue_full', line } end
end

local at = now()
local r = { redis_key = KEYS[2], id = string.sub(KEYS[2], #prefix + 3), stage = 'none', auth = authorization, asset = record.asset,
  payer = record.payer, charged_to = charged_to(record), deadline = record.deadline, kind = record.kind, amount = record.amount,
  hashes = '', tx = '', claimed_at = at, early = early, by = requester,
  totals = totals, is_first = not index[3],
  accepted = is_accepted }
advance(r, 'claimed', 'auth', authorization, 'sale', is_accepted and 'sold' or 'open',
  'sold_to', is_accepted and requester or '', 'sold_key', is_accepted and key or '',
  'kept', lost and lost.kept and '1' or '', 'async', is_accepted and '1' or '', 'key', key, 'early', r.early,
  'by', requester, 't_claimed', at, unpack(ARGV, 13, fields_end))
if is_accepted then redis.call('HSET', KEYS[3], 'sold', r.id) end
-- Its end lets them expire.
redis.call('ZADD', waiters_key(r.id), at, requester)
if needs_nothing then
  -- It cost nothing, and the holder of a key can sign any number of them: kept while it could be settled for
  -- more, and for an hour at most.
  local left = math.floor(tonumber(record.deadline) - at / 1000) + MINUTE
  local seconds = math.max(MINUTE, math.min(left, HOUR))
  conclude(r, 'nothing_due', { paid = true }, { tombstone = seconds, retention = seconds })
  return { made, queued }
end
add_newest(prefix .. 'newest', at, r.id, 500)
add_newest(KEYS[5], at, r.id, 50, ARGV[8])
return { made, queued }
