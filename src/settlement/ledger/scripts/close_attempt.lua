--- @include "lane"

-- A nonce is settled for good: nothing of it can land any more. Budgets were charged with the most it could
-- cost, and are now charged with what it has cost.
-- KEYS[1] epoch, KEYS[2] lane
-- ARGV[1] epoch, ARGV[2] lease, ARGV[3] account nonce, ARGV[4] gas fee it has cost, gwei
-- Returns 1.
local REFILLS_MOST = 5000
local nonce = ARGV[3]
local attempt = redis.call('HGET', lane_key .. ':attempts', nonce)
local closed = attempt and cjson.decode(attempt) or {}
local funding = closed.funding
if funding and redis.call('HGET', funded_key, funding.payer) == string.format('%.0f:sent', funding.payerNonce) then
  note_funded(funding.payer, funding.payerNonce, 'done')
end
local charged_later = funding and redis.call('HGET', record_key(funding.settlementId), 'funding')
if charged_later then
  local day = string.match(charged_later, '^[^:]+')
  redis.call('HSET', record_key(funding.settlementId), 'funding', day .. ':' .. ARGV[4])
end
-- No log names a refill, so that the books ask here for its transactions. Those of the newest nonces are kept.
if closed.kind == 'refill' then
  local hashes = {}
  for i, transaction in ipairs(closed.transactions) do hashes[i] = transaction.hash end
  redis.call('HSET', lane_key .. ':refills', nonce, table.concat(hashes, ','))
  redis.call('HDEL', lane_key .. ':refills', string.format('%.0f', tonumber(nonce) - REFILLS_MOST))
end
redis.call('HDEL', lane_key .. ':attempts', nonce)
local text = redis.call('HGET', lane_key .. ':charges', nonce)
if not text then return 1 end
redis.call('HDEL', lane_key .. ':charges', nonce)
local before = cjson.decode(text)
local part = before.cost > 0 and tonumber(ARGV[4]) / before.cost or 0
for subject, gwei in pairs(before.charged) do
  -- A day that is over has nothing left to be corrected.
  if redis.call('EXISTS', spent_key(subject, before.day)) == 1 then
    redis.call('INCRBY', spent_key(subject, before.day), string.format('%.0f', math.ceil(gwei * part) - gwei))
  end
end
return 1
