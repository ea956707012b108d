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
local awaits = is_awaiting(tonumber(ARGV[5]))
local most, bases = tonumber(ARGV[3]), { lane_key .. ':', lane_key .. ':' .. OWN }
if ARGV[4] ~= '1' and not is_retiring() then
  bases[3], bases[4] = prefix, prefix .. OWN
end

local free, held = tonumber(ARGV[6]), {}
for i = 7, #ARGV, 2 do held[ARGV[i]] = tonumber(ARGV[i + 1]) end

-- Each base has its round of groups. Groups and settlements are read in parts, and what changes is written once, at the end.
local rounds, out, count = {}, {}, 0
for i, base in ipairs(bases) do
  rounds[i] = { payees = base .. 'payees', ready = base .. 'ready:', is_own = string.sub(base, -#OWN) == OWN, groups = {},
    at = 1, read = 0, again = {} }
end

local function read_groups(round)
  -- Of assets any may be the one that is served.
  local last = round.is_own and -1 or round.read + most - 1
  local part = redis.call('ZRANGE', round.payees, round.read, last, 'WITHSCORES')
  local function add(group) round.groups[#round.groups + 1] = group end
  for i = 1, #part, 2 do add({ name = part[i], turn = tonumber(part[i + 1]), popped = {}, at = 1, passed = {} }) end
  round.read = round.read + #part / 2
  round.is_whole = round.is_own or #part / 2 < most
  if not round.is_whole then return end
  for _, group in ipairs(round.again) do add(group) end
end

-- The place of the first group that may be served: any payee, and an asset that may have another place.
local function first_of(round)
  if round.is_own and free <= 0 then return nil end
  if round.at > #round.groups and not round.is_whole then read_groups(round) end
  for i = round.at, #round.groups do
    if not round.is_own or (held[round.groups[i].name] or 0) < free then return i end
  end
  return nil
end

-- Of the groups whose turn it is, the one that waits longest. It leaves its round.
local function next_in_turn()
  local found, place
  for _, round in ipairs(rounds) do
    local i = first_of(round)
    if i and (not found or round.groups[i].turn < found.groups[place].turn) then found, place = round, i end
  end
  if not found then return nil end
  local group = found.groups[place]
  if place == found.at then found.at = place + 1 else table.remove(found.groups, place) end
  return group, found
end

-- Whether a group has another settlement, as id and order from `popped[at]` on.
local function has_more(group, round)
  if group.at > #group.popped and not group.is_empty then
    local wanted = most - count + 1
    group.popped, group.at = redis.call('ZPOPMIN', round.ready .. group.name, wanted), 1
    group.is_empty = #group.popped / 2 < wanted
  end
  return group.at <= #group.popped
end

local served, looked_past = {}, 0
begin_batch()
local first_turn = tonumber(redis.call('GET', prefix .. 'turn') or '0')
local turn = first_turn
while count < most and looked_past < PASSED_MOST do
  local group, round = next_in_turn()
  if not group then break end
  if not group.round then
    group.round = round
    served[#served + 1] = group
  end
  local id, order
  if has_more(group, round) then
    id, order = group.popped[group.at], group.popped[group.at + 1]
    group.at = group.at + 2
  end
  local key = id and record_key(id)
  local f = id and redis.call('HMGET', key, 'stage', 'payment', 'since', 'hashes', 'tries', 'again', 'kind', 'approval',
    't_claimed')
  if f and f[1] == 'ready' and awaits and is_before_epoch(tonumber(f[9] or '0')) then
    looked_past = looked_past + 1
    group.passed[#group.passed + 1] = order
    group.passed[#group.passed + 1] = id
  elseif f and f[1] == 'ready' then
    local r = { redis_key = key, id = id, stage = 'ready', charged_to = group.name, lane = lane, hashes = f[4] or '',
      kind = f[7], approval = f[8], is_popped = true }
    advance(r, 'taken', 'lane', lane)
    if round.is_own then
      held[group.name], free = (held[group.name] or 0) + 1, free - 1
    end
    out[#out + 1] = id
    out[#out + 1] = f[2]
    out[#out + 1] = f[3] or ''
    out[#out + 1] = f[4] or ''
    out[#out + 1] = f[5] or '0'
    out[#out + 1] = f[6] or '0'
    count = count + 1
  end
  -- Who was served goes to the end of the round.
  group.waits = has_more(group, round)
  if group.waits then
    turn = turn + 1
    group.turn = turn
    local last = round.is_whole and round.groups or round.again
    last[#last + 1] = group
  end
end
end_batch()

local returned, waiting, gone = {}, {}, {}
for _, group in ipairs(served) do
  local payees, ready = group.round.payees, group.round.ready .. group.name
  for i = group.at, #group.popped, 2 do collect(returned, ready, group.popped[i + 1], group.popped[i]) end
  if #group.passed > 0 then collect(returned, ready, unpack(group.passed)) end
  if not group.waits and #group.passed > 0 then
    turn = turn + 1
    group.turn, group.waits = turn, true
  end
  if group.waits then collect(waiting, payees, group.turn, group.name) else collect(gone, payees, group.name) end
end
in_parts('ZADD', returned)
in_parts('ZADD', waiting)
in_parts('ZREM', gone)
if turn > first_turn then redis.call('SET', prefix .. 'turn', string.format('%.0f', turn)) end
return out
