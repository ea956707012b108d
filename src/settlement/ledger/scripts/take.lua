--- @include "lane"

-- Takes ready settlements for a lane: payees in turn, of each the one with the earliest deadline. Settlements for this
-- lane alone and for any lane are one round. Those that need preparation share it: assets in turn, of each the one that
-- came first.
-- KEYS[1] epoch, KEYS[2] lane
-- ARGV[1] epoch, ARGV[2] lease, ARGV[3] most, ARGV[4] `1` for a lane that takes only settlements that name it,
-- ARGV[5] ms after a ledger went back in which nothing older is taken in any case: acknowledged withdrawals are
-- replayed meanwhile,
-- ARGV[6] places that are free, ARGV[7..] of the others: asset, how many it has, ...
-- Returns a flat list of id, payment, block before its first broadcast (empty before it), its transactions, tries, how
-- often it was resubmitted.
if is_paused() then return {} end
-- What is older waits, and what is newer goes past it: so many at most are looked at for that.
local PASSED_MOST = 256
local awaits, passed = is_awaiting(tonumber(ARGV[5])), {}
local most, bases = tonumber(ARGV[3]), { lane_key .. ':', lane_key .. ':' .. OWN }
if ARGV[4] ~= '1' and not is_retiring() then
  bases[3], bases[4] = prefix, prefix .. OWN
end

local free, held = tonumber(ARGV[6]), {}
for i = 7, #ARGV, 2 do held[ARGV[i]] = tonumber(ARGV[i + 1]) end

local function is_own(base)
  return string.sub(base, -#OWN) == OWN
end

-- The first group of a base that may be served: any payee, and an asset that may have another place.
local function first_of(base)
  if not is_own(base) then return redis.call('ZRANGE', base .. 'payees', 0, 0, 'WITHSCORES') end
  if free <= 0 then return {} end
  local assets = redis.call('ZRANGE', base .. 'payees', 0, -1, 'WITHSCORES')
  for i = 1, #assets, 2 do
    if (held[assets[i]] or 0) < free then return { assets[i], assets[i + 1] } end
  end
  return {}
end

-- Of the groups whose turn it is, the one that waits longest.
local heads = {}
local function first_in_turn()
  local found
  for _, base in ipairs(bases) do
    local head = heads[base] or first_of(base)
    heads[base] = head
    local turn = tonumber(head[2] or '0')
    if head[1] and (not found or turn < found.turn) then found = { base = base, payee = head[1], turn = turn } end
  end
  return found
end

local out, count = {}, 0
begin_batch()
local turn = tonumber(redis.call('GET', prefix .. 'turn') or '0')
while count < most and #passed < PASSED_MOST do
  local served = first_in_turn()
  if not served then break end
  local payee, payees = served.payee, served.base .. 'payees'
  local ready = served.base .. 'ready:' .. payee
  local id, order = unpack(redis.call('ZPOPMIN', ready))
  local key = id and record_key(id)
  local f = id and redis.call('HMGET', key, 'stage', 'payment', 'since', 'hashes', 'tries', 'again', 'kind', 'approval',
    't_claimed')
  if f and f[1] == 'ready' and awaits and is_before_epoch(tonumber(f[9] or '0')) then
    passed[#passed + 1] = { payees = payees, payee = payee, ready = ready, order = order, id = id }
  elseif f and f[1] == 'ready' then
    local r = { redis_key = key, id = id, stage = 'ready', charged_to = payee, lane = lane, hashes = f[4] or '', kind = f[7],
      approval = f[8], is_popped = true }
    advance(r, 'taken', 'lane', lane)
    if is_own(served.base) then
      held[payee], free = (held[payee] or 0) + 1, free - 1
    end
    out[#out + 1] = id
    out[#out + 1] = f[2]
    out[#out + 1] = f[3] or ''
    out[#out + 1] = f[4] or ''
    out[#out + 1] = f[5] or '0'
    out[#out + 1] = f[6] or '0'
    count = count + 1
  end
  -- Who was served goes to the end of the round. Places that are taken count for both lines of assets.
  if is_own(served.base) then heads = {} else heads[served.base] = nil end
  if redis.call('EXISTS', ready) == 1 then
    turn = turn + 1
    redis.call('ZADD', payees, turn, payee)
  else
    redis.call('ZREM', payees, payee)
  end
end
end_batch()
for _, one in ipairs(passed) do
  redis.call('ZADD', one.ready, one.order, one.id)
  if not redis.call('ZSCORE', one.payees, one.payee) then
    turn = turn + 1
    redis.call('ZADD', one.payees, turn, one.payee)
  end
end
if count > 0 or #passed > 0 then redis.call('SET', prefix .. 'turn', string.format('%.0f', turn)) end
return out
