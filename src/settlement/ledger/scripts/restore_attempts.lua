--- @include "lane"

-- Stores what a lane still has in memory in a ledger that went back: see `restoreAttempts` of the port.
-- KEYS[1] epoch, KEYS[2] lane
-- ARGV[1] epoch, ARGV[2] lease, ARGV[3] next account nonce, ARGV[4] seconds details are kept,
-- ARGV[5] JSON list of {nonce, attempt (JSON text), hashes, items, funding, refill}, an item {id, fields: name, value, ...},
-- a funding, where it is one, {payer, payerNonce, cost (gwei), day}, a refill likewise {cost, day}
-- Returns how many settlements were restored.
local next_nonce = redis.call('HGET', lane_key, 'next')
if not next_nonce or tonumber(next_nonce) < tonumber(ARGV[3]) then redis.call('HSET', lane_key, 'next', ARGV[3]) end
local count, at = 0, now()
for _, one in ipairs(cjson.decode(ARGV[5])) do
  local nonce = one.nonce
  redis.call('HSET', lane_key .. ':attempts', nonce, one.attempt)
  redis.call('SADD', prefix .. 'lanes', lane)
  local funding = one.funding
  if funding then
    if not is_funded(funding.payer, funding.payerNonce) then note_funded(funding.payer, funding.payerNonce, 'sent') end
    -- What it may cost counts again, whatever is left of the budget: it was sent.
    if redis.call('HEXISTS', lane_key .. ':charges', nonce) == 0 then
      local charged = { ['fundings'] = funding.cost }
      redis.call('HSET', lane_key .. ':charges', nonce,
        cjson.encode({ day = funding.day, cost = funding.cost, charged = charged }))
      spend('fundings', funding.day, funding.cost)
    end
  end
  local refill = one.refill
  if refill and redis.call('HEXISTS', lane_key .. ':charges', nonce) == 0 then
    local charged = { ['lane:' .. lane] = refill.cost }
    redis.call('HSET', lane_key .. ':charges', nonce,
      cjson.encode({ day = refill.day, cost = refill.cost, charged = charged }))
    spend('lane:' .. lane, refill.day, refill.cost)
  end
  local ids = {}
  for _, item in ipairs(one.items) do
    local key = record_key(item.id)
    local r = read(key)
    if not r then
      local fields = {}
      for i = 1, #item.fields, 2 do fields[item.fields[i]] = item.fields[i + 1] end
      r = { redis_key = key, id = item.id, stage = 'none', auth = fields.auth, asset = fields.asset, payer = fields.payer,
        charged_to = charged_to(fields), deadline = fields.deadline, kind = fields.kind, amount = fields.amount, lane = lane,
        lane_nonce = nonce, hashes = '', claimed_at = at, again = 0 }
      redis.call('HSET', key, 'sale', 'open', 't_claimed', at, 'signed', '', unpack(item.fields))
    end
    if can(r, 'restored') and not is_bound(r, nonce) then
      note_return()
      redis.call('PERSIST', key)
      local hashes = r.hashes
      for _, hash in ipairs(one.hashes) do hashes = note_hash(r, hash) end
      redis.call('HDEL', key, 'block', 'block_hash', 'log', 'batch', 't_included', 't_finished', 'reason')
      -- A record that was shrunk has lost what a lane needs.
      redis.call('HSET', key, unpack(item.fields))
      advance(r, 'restored', 'lane', lane, 'lane_nonce', nonce, 'hashes', hashes, 'tx', one.hashes[#one.hashes] or '',
        't_allocated', at)
      ids[#ids + 1] = item.id
      count = count + 1
    end
  end
  for _, hash in ipairs(one.hashes) do list_transaction(hash, ids, ARGV[4]) end
end
return count
