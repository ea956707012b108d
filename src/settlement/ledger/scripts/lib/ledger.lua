--- @include "machine"
--- @include "sponsoring"
--- @include "record"

-- What every script of a chain's ledger shares.
-- KEYS[1] is the epoch's key, `<prefix>epoch`; ARGV[1] the epoch the caller believes in.
-- No other key name is built but from that prefix. After a script's own keys comes that of the outbox, with a history.

local prefix = string.sub(KEYS[1], 1, -6)
-- Channels have no slot: `<root>news:<process>`, `<root>work:<chain>`.
local root, chain = string.match(prefix, '^([^{]*){(%d+):')

-- The last key, where it is given: the stream that notes for the history what has changed.
local outbox = KEYS[#KEYS] == prefix .. 'outbox' and table.remove(KEYS) or nil

local epoch = redis.call('HMGET', KEYS[1], 'id', 'at', 'back', 'returned')
if epoch[1] ~= ARGV[1] then
  return redis.error_reply('EPOCH the ledger is of another epoch')
end

local clock

-- Milliseconds since the epoch: one moment for the whole script.
local function now()
  if not clock then
    local t = redis.call('TIME')
    clock = t[1] * 1000 + math.floor(t[2] / 1000)
  end
  return clock
end

-- Whether the ledger went back, and processes that lived before may still have to say again what they told. `ms` is
-- for those that it does not know of any more.
local function is_awaiting(ms)
  if epoch[3] ~= '1' then return false end
  local since = now() - tonumber(epoch[2])
  -- Below zero where the clock was set back meanwhile.
  if since >= 0 and since < ms then return true end
  return redis.call('EXISTS', prefix .. 'awaited') == 1
end

-- Whether the ledger ever went back, or something of before was stored in it again. Else no claim was ever lost, and
-- no older one came back beside a newer one.
local function has_gone_back()
  return epoch[3] == '1' or epoch[4] == '1'
end

-- Before something of before is stored again, or ended again.
local function note_return()
  if epoch[4] == '1' then return end
  epoch[4] = '1'
  redis.call('HSET', KEYS[1], 'returned', '1')
end

-- Whether a claim is older than the last time the ledger went back.
local function is_before_epoch(claimed_at)
  return claimed_at < tonumber(epoch[2] or '0')
end

local function split(text, separator)
  local parts, from = {}, 1
  if text == '' then return parts end
  while true do
    local at = string.find(text, separator, from, true)
    if not at then
      parts[#parts + 1] = string.sub(text, from)
      return parts
    end
    parts[#parts + 1] = string.sub(text, from, at - 1)
    from = at + 1
  end
end

local function record_key(id)
  return prefix .. 's:' .. id
end

local function waiters_key(id)
  return prefix .. 'w:' .. id
end

local function index_key(authorization)
  return prefix .. 'a:' .. authorization
end

-- Some fields of a record by name, or nil where no record exists. The first name is that of a field that every record has.
local function read_fields(key, names)
  local values, fields = redis.call('HMGET', key, unpack(names)), {}
  if not values[1] then return nil end
  for i, name in ipairs(names) do fields[name] = values[i] or nil end
  return fields
end

-- Whose gas budget and share of the queue a record counts for.
local function charged_to(fields)
  return fields.charged_to or fields.pay_to
end

-- What most transitions need of a record, by its fields.
local function transition_of(key, f)
  return {
    redis_key = key, id = string.sub(key, #prefix + 3), stage = f.stage, auth = f.auth or '', asset = f.asset or '',
    payer = f.payer or '', charged_to = charged_to(f) or '', deadline = f.deadline or '0', lane = f.lane or '',
    lane_nonce = f.lane_nonce or '', hashes = f.hashes or '', sale = f.sale, told = f.told == '1', async = f.async == '1',
    included_at = tonumber(f.t_included or '0'), again = tonumber(f.again or '0'), sender = f.sender or '',
    accepted = (f.async or '') ~= '', kind = f.kind, approval = f.approval, by = f.by, joined = f.joined,
  }
end

local TRANSITION_FIELDS = { 'stage', 'auth', 'asset', 'payer', 'pay_to', 'deadline', 'lane', 'lane_nonce', 'hashes', 'sale',
  'told', 'async', 't_included', 'again', 'sender', 'kind', 'approval', 'charged_to', 'by', 'joined' }

-- The fields that most transitions need of a record, or nil where no record exists.
local function read(key)
  local fields = read_fields(key, TRANSITION_FIELDS)
  return fields and transition_of(key, fields)
end

-- All fields of a record by name.
local function all_fields(key)
  local flat, all = redis.call('HGETALL', key), {}
  for i = 1, #flat, 2 do all[flat[i]] = flat[i + 1] end
  return all
end

-- The same where a step will need the whole record: it is read once. Before its first change.
local function read_whole(key)
  local all = all_fields(key)
  if not all.stage then return nil end
  local r = transition_of(key, all)
  r.all = all
  return r
end

-- Fills in all of a record, and returns its fields by name.
local function read_all(r)
  local all = r.all or all_fields(r.redis_key)
  r.auth, r.asset, r.payer, r.charged_to, r.deadline = all.auth, all.asset, all.payer, charged_to(all), all.deadline
  r.lane, r.claimed_at, r.kind, r.amount = all.lane or '', tonumber(all.t_claimed or '0'), all.kind, all.amount
  r.sender, r.approval = all.sender or '', r.approval or all.approval
  return all
end

-- Writes fields of a record, and into what the step has read of it: name, value, ...
local function write(r, ...)
  redis.call('HSET', r.redis_key, ...)
  local given = { ... }
  for i = 1, #given, 2 do
    if r.fields then r.fields[given[i]] = tostring(given[i + 1]) end
    if r.all then r.all[given[i]] = tostring(given[i + 1]) end
  end
end

-- ---------------------------------------------------------------- news

-- Whether the requester that made a claim is the only one that has ever waited for it.
local function is_of_one(r)
  return r.by and r.joined ~= '1'
end

-- Seconds that requesters are kept after the last one came, and after the end of their claim.
local WAITERS_KEPT = 300

-- Tells every process with a requester for one of these settlements, in one message each:
-- ids, news, transaction, reason.
local function publish_all(records, news, transaction, reason)
  local by_process = {}
  for _, r in ipairs(records) do
    local seen = {}
    for _, requester in ipairs(is_of_one(r) and { r.by } or redis.call('ZRANGE', waiters_key(r.id), 0, -1)) do
      local process = string.match(requester, '^[^.]+')
      if not seen[process] then
        seen[process] = true
        local mine = by_process[process]
        if mine then mine[#mine + 1] = r.id else by_process[process] = { r.id } end
      end
    end
  end
  for process, mine in pairs(by_process) do
    redis.call('PUBLISH', root .. 'news:' .. process,
      table.concat(mine, ',') .. '|' .. news .. '|' .. (transaction or '') .. '|' .. (reason or ''))
  end
end

local function publish(r, news, transaction, reason)
  publish_all({ r }, news, transaction, reason)
end

-- ---------------------------------------------------------------- amounts in flight

-- Amounts are decimal texts of up to 78 digits, too large for Lua's numbers: they are added in parts.
local function decimal_add(a, b)
  local out, carry, i, j = '', 0, #a, #b
  while i > 0 or j > 0 or carry > 0 do
    local x = i > 0 and tonumber(string.sub(a, math.max(1, i - 13), i)) or 0
    local y = j > 0 and tonumber(string.sub(b, math.max(1, j - 13), j)) or 0
    local sum = x + y + carry
    carry = sum >= 1e14 and 1 or 0
    out = string.format('%014.0f', sum - carry * 1e14) .. out
    i, j = i - 14, j - 14
  end
  out = string.gsub(out, '^0+', '')
  return out == '' and '0' or out
end

local function decimal_less(a, b)
  if #a ~= #b then return #a < #b end
  return a < b
end

local function decimal_subtract(a, b)
  if decimal_less(a, b) then return '0' end
  local out, borrow, i, j = '', 0, #a, #b
  while i > 0 do
    local x = tonumber(string.sub(a, math.max(1, i - 13), i))
    local y = j > 0 and tonumber(string.sub(b, math.max(1, j - 13), j)) or 0
    local rest = x - y - borrow
    borrow = rest < 0 and 1 or 0
    out = string.format('%014.0f', rest + borrow * 1e14) .. out
    i, j = i - 14, j - 14
  end
  out = string.gsub(out, '^0+', '')
  return out == '' and '0' or out
end

-- The authorization whose payer's own transaction comes first: its account has one line of nonces, whatever the token.
local function own_transaction_key(payer)
  return prefix .. 'o:' .. payer
end

-- Whether a kind counts for no money of a payer, and no goods depend on it.
local function takes_nothing(kind)
  return kind == 'n' or kind == 'c'
end

-- <kind>:<amount> by authorization, and the totals _b (of the balance), _p (of what is
-- approved) and _s (sponsored permits), which may be left out where all are 0; _c counts claims, where there are any.
local function in_flight_key(r)
  return prefix .. 'f:' .. r.asset .. ':' .. r.payer
end

local function reserve(r)
  if not r.amount then read_all(r) end
  local key = in_flight_key(r)
  local f = r.totals or redis.call('HMGET', key, '_b', '_p', '_s', r.auth)
  if f[4] then return end
  if r.kind == 'a' then redis.call('SETNX', own_transaction_key(r.payer), r.auth) end
  redis.call('HSET', key, r.auth, r.kind .. ':' .. r.amount, '_b', decimal_add(f[1] or '0', r.amount),
    '_p', r.kind == 'p' and decimal_add(f[2] or '0', r.amount) or (f[2] or '0'),
    '_s', tonumber(f[3] or '0') + (r.kind == 's' and 1 or 0))
  if r.kind == 'c' then redis.call('HINCRBY', key, '_c', 1) end
end

-- Whether what is reserved for an authorization is of a newer claim of it: an older one may have come back with a ledger
-- that went back.
local function is_of_another(r)
  if not has_gone_back() then return false end
  local live = redis.call('HGET', index_key(r.auth), 'live')
  if not live or live == r.id then return false end
  local f = redis.call('HMGET', record_key(live), 'stage', 't_finished')
  return f[1] and f[1] ~= 'included' and not f[2]
end

local function release(r)
  local key = in_flight_key(r)
  local f = redis.call('HMGET', key, r.auth, '_b', '_p', '_s')
  local entry = f[1]
  if not entry or is_of_another(r) then return end
  local kind, amount = string.sub(entry, 1, 1), string.sub(entry, 3)
  if kind == 'a' and redis.call('GET', own_transaction_key(r.payer)) == r.auth then
    redis.call('DEL', own_transaction_key(r.payer))
  end
  if kind == 'c' and redis.call('HINCRBY', key, '_c', -1) <= 0 then redis.call('HDEL', key, '_c') end
  local balance = decimal_subtract(f[2] or '0', amount)
  local approved = kind == 'p' and decimal_subtract(f[3] or '0', amount) or (f[3] or '0')
  local permits = tonumber(f[4] or '0') - (kind == 's' and 1 or 0)
  if balance == '0' and approved == '0' and permits == 0 then
    -- With the last field the key is gone.
    redis.call('HDEL', key, r.auth, '_b', '_p', '_s')
  else
    redis.call('HDEL', key, r.auth)
    redis.call('HSET', key, '_b', balance, '_p', approved, '_s', permits)
  end
end

-- ---------------------------------------------------------------- lists

-- A script that moves many records collects what leaves and enters each list, and writes a list once.
local batch

local function begin_batch()
  batch = { removed = {}, added = {}, loads = {}, known_loads = {}, lengths = {}, groups = {}, most = {}, lives = {} }
end

local function collect(lists, key, ...)
  local list = lists[key] or {}
  lists[key] = list
  for _, value in ipairs({ ... }) do list[#list + 1] = value end
end

local function add_to(key, score, id)
  if batch then collect(batch.added, key, score, id) else redis.call('ZADD', key, score, id) end
end

local function remove_from(key, id)
  if batch then collect(batch.removed, key, id) else redis.call('ZREM', key, id) end
end

-- How long a list is, with what a batch has done to it.
local function length_of(key)
  batch.lengths[key] = batch.lengths[key] or redis.call('ZCARD', key)
  return batch.lengths[key] + #(batch.added[key] or {}) / 2 - #(batch.removed[key] or {})
end

-- Adds to a list of the newest, which keeps so many of them, for so many seconds where that is given.
local function add_newest(key, score, id, most, seconds)
  add_to(key, score, id)
  batch.most[key], batch.lives[key] = most, seconds
end

-- How much of the queue counts for one account, or of one asset that needs preparation, with what a batch has done.
local function load_of(share)
  local known = batch.known_loads
  known[share] = known[share] or tonumber(redis.call('HGET', prefix .. 'load', share) or '0')
  return known[share] + (batch.loads[share] or 0)
end

-- How much of the queue counts for one account, or of one asset that needs preparation.
local function change_load(share, by)
  if batch then
    batch.loads[share] = (batch.loads[share] or 0) + by
  elseif redis.call('HINCRBY', prefix .. 'load', share, by) <= 0 then
    redis.call('HDEL', prefix .. 'load', share)
  end
end

-- Arguments of one command; Lua has room for some 8,000.
local ARGUMENTS_MOST = 1000

local function in_parts(command, lists)
  for key, values in pairs(lists) do
    for from = 1, #values, ARGUMENTS_MOST do
      redis.call(command, key, unpack(values, from, math.min(from + ARGUMENTS_MOST - 1, #values)))
    end
  end
end

-- Groups that are not waiting yet come behind all that are.
local function join_round(round, groups)
  local turn = redis.call('INCRBY', prefix .. 'turn', #groups) - #groups
  for from = 1, #groups, ARGUMENTS_MOST do
    local added = {}
    for i = from, math.min(from + ARGUMENTS_MOST - 1, #groups) do
      added[#added + 1] = turn + i
      added[#added + 1] = groups[i]
    end
    redis.call('ZADD', round, 'NX', unpack(added))
  end
end

-- Writes what the loads of a batch come to. Those of nothing are forgotten: a payer names the accounts.
local function change_loads(loads, known)
  local key, unknown, values, over = prefix .. 'load', {}, {}, {}
  for share in pairs(loads) do
    if not known[share] then unknown[#unknown + 1] = share end
  end
  for from = 1, #unknown, ARGUMENTS_MOST do
    local to = math.min(from + ARGUMENTS_MOST - 1, #unknown)
    local before = redis.call('HMGET', key, unpack(unknown, from, to))
    for i = from, to do known[unknown[i]] = tonumber(before[i - from + 1] or '0') end
  end
  for share, by in pairs(loads) do
    local load = known[share] + by
    if load > 0 then collect(values, key, share, load) else collect(over, key, share) end
  end
  in_parts('HSET', values)
  in_parts('HDEL', over)
end

-- Before the script returns. What entered and left one list in the same script is not in it.
local function end_batch()
  local ended = batch
  batch = nil
  in_parts('ZADD', ended.added)
  in_parts('ZREM', ended.removed)
  change_loads(ended.loads, ended.known_loads)
  for round, groups in pairs(ended.groups) do join_round(round, groups) end
  for key, most in pairs(ended.most) do redis.call('ZREMRANGEBYRANK', key, 0, -1 - most) end
  for key, seconds in pairs(ended.lives) do redis.call('EXPIRE', key, seconds) end
end

-- Where ready work waits: what only one signer may send waits for that lane alone.
local function ready_base(r)
  if r.sender == '' then return prefix end
  return prefix .. 'l:' .. r.sender .. ':'
end

-- What waits for a place, because the operator pays for the approval that comes first, is not among the payments
-- that can be sent: assets take turns there, as accounts do elsewhere. Of one asset who came first is first: a deadline
-- is the payer's choice.
local OWN = 'own:'

local function enter_ready(r)
  local base, group, order = ready_base(r), r.charged_to, r.deadline
  if r.kind == 'a' and r.hashes == '' then
    base, group = base .. OWN, r.asset
    order = r.claimed_at or redis.call('HGET', r.redis_key, 't_claimed')
  end
  add_to(base .. 'ready:' .. group, order, r.id)
  local round = base .. 'payees'
  if not batch then return join_round(round, { group }) end
  local groups = batch.groups[round] or {}
  batch.groups[round] = groups
  if not groups[group] then
    groups[group] = true
    groups[#groups + 1] = group
  end
end

local function leave_ready_of(r, base, group)
  local ready = base .. 'ready:' .. group
  if redis.call('ZREM', ready, r.id) == 1 and redis.call('EXISTS', ready) == 0 then
    redis.call('ZREM', base .. 'payees', group)
  end
end

local function leave_ready(r)
  leave_ready_of(r, ready_base(r), r.charged_to)
  if r.kind == 'a' then leave_ready_of(r, ready_base(r) .. OWN, r.asset) end
end

-- What entering and leaving a listing of the machine does.
local function enter(r, listing)
  if listing == 'live' then
    if not r.claimed_at then read_all(r) end
    add_to(prefix .. 'live', r.claimed_at, r.id)
    redis.call('HSET', index_key(r.auth), 'live', r.id)
    if not r.is_first then redis.call('PERSIST', index_key(r.auth)) end
  elseif listing == 'queued' then
    add_to(prefix .. (r.kind == 'a' and 'sponsored' or 'queued'), now(), r.id)
    add_to(prefix .. 'deadlines', r.deadline, r.id)
    change_load(r.kind == 'a' and OWN .. r.asset or r.charged_to, 1)
  elseif listing == 'reserved' then
    reserve(r)
  elseif listing == 'ready' then
    enter_ready(r)
  elseif listing == 'work' then
    add_to(prefix .. 'l:' .. r.lane .. ':work', now(), r.id)
  else
    add_to(prefix .. listing, r.due_at or now(), r.id)
  end
end

local function leave(r, listing)
  if listing == 'live' then
    -- What the index says is up to who ends it.
    remove_from(prefix .. 'live', r.id)
  elseif listing == 'queued' then
    remove_from(prefix .. (r.kind == 'a' and 'sponsored' or 'queued'), r.id)
    remove_from(prefix .. 'deadlines', r.id)
    change_load(r.kind == 'a' and OWN .. r.asset or r.charged_to, -1)
  elseif listing == 'reserved' then
    release(r)
  elseif listing == 'ready' then
    if not r.is_popped then leave_ready(r) end
  elseif listing == 'work' then
    remove_from(prefix .. 'l:' .. r.lane .. ':work', r.id)
  else
    remove_from(prefix .. listing, r.id)
  end
end

-- The next stage and what it does to the lists, as `stage:-left,+entered`, or nil where it cannot happen.
local function cell(stage, event)
  local mark = ';' .. stage .. '.' .. event .. '='
  local _, last = string.find(CELLS, mark, 1, true)
  if not last then return nil end
  return string.match(CELLS, '^(%a+):([^;]*)', last + 1)
end

local function can(r, event)
  return cell(r.stage, event) ~= nil
end

-- ---------------------------------------------------------------- approvals that the operator pays for

local TEN_MINUTES = 600
local HOUR = 3600

-- Counts a revert, or what comes to as much, against a payer.
local function blame(payer)
  redis.call('INCR', prefix .. 'v:' .. payer)
  redis.call('EXPIRE', prefix .. 'v:' .. payer, TEN_MINUTES)
end

-- How long a payer had places that came to nothing, ms; of a signed payment all of it, once it may have none again.
local function places_key(who)
  return prefix .. 'b:' .. who
end

local function count_place(who, ms)
  redis.call('INCRBY', places_key(who), string.format('%.0f', ms))
  redis.call('EXPIRE', places_key(who), HOUR)
end

-- Whether a payer or a signed payment has no place again for now.
local function had_its_place(who)
  return tonumber(redis.call('GET', places_key(who)) or '0') >= PLACE_MS
end

-- Moves the approval that comes before a payment to its next state, and notes what its end leaves behind.
local function sponsor(r, event)
  if r.kind ~= 'a' then return end
  local mark = ';' .. (r.approval or 'none') .. '.' .. event .. '='
  local _, last = string.find(SPONSORING, mark, 1, true)
  if not last then return end
  local to, marks = string.match(SPONSORING, '^(%a+):([^;]*)', last + 1)
  for name in string.gmatch(marks, '%a+') do
    if name == 'payer' then
      blame(r.payer)
    else
      if name == 'payment' then count_place(r.auth, PLACE_MS) end
      local since = r.lane ~= '' and redis.call('ZSCORE', prefix .. 'l:' .. r.lane .. ':work', r.id)
      if since then count_place(r.payer, math.max(0, now() - tonumber(since))) end
    end
  end
  r.approval = to
  write(r, 'approval', to)
end

-- Moves a record from list to list. Returns whether it could.
local function move(r, event, reason)
  local to, lists = cell(r.stage, event)
  if not to then return false end
  sponsor(r, event == 'refused' and BLAMELESS[reason] and 'turned_away' or event)
  for sign, listing in string.gmatch(lists, '([+-])(%a+)') do
    if sign == '-' then leave(r, listing) else enter(r, listing) end
  end
  r.stage = to
  return true
end

-- ---------------------------------------------------------------- the history

local DAY = 86400

-- What bytes were signed for, or a 202 was given for, is of the history for ever: whatever becomes of it is noted.
local function is_of_history(r)
  return (r.hashes or '') ~= '' or (r.tx or '') ~= '' or r.paid or r.accepted
end

-- A finished record is looked at again once nothing has changed it for a while: the archive may answer for it then.
local IS_FINAL = { finalized = true, foreign = true, reverted = true, expired = true }

-- Notes that a record has changed. Its state is read by the archiver, later and once for many changes; a record
-- that may be gone by then is noted as it is now.
local function note_change(r)
  if not outbox or not is_of_history(r) then return end
  if r.stage == 'foreign' or IS_FINAL[r.stage] and (r.tx or '') ~= '' then redis.call('ZADD', prefix .. 'cooling', now(), r.id) end
  -- A live record stays until it ends.
  local is_finished = IS_FINAL[r.stage] or r.stage == 'withdrawn'
  local seconds = is_finished and (r.seconds_left or redis.call('TTL', r.redis_key)) or -1
  if seconds < 0 or seconds >= DAY then
    redis.call('XADD', outbox, '*', 'id', r.id)
  else
    redis.call('XADD', outbox, '*', 'id', r.id, 'record', cjson.encode(redis.call('HGETALL', r.redis_key)),
      'details', redis.call('GET', prefix .. 'd:' .. r.id) or '')
  end
end

-- Writes fields of a record whose change has listeners: name, value, ...
local function put(r, ...)
  write(r, ...)
  note_change(r)
end

-- Moves a record to its next stage, with further fields: name, value, ... Returns whether it could.
local function advance(r, event, ...)
  if not move(r, event) then return false end
  put(r, 'stage', r.stage, ...)
  return true
end

-- ---------------------------------------------------------------- paid and not sold

-- A final payment without a sale. `sweep.lua` moves it from `unsold` to `unclaimed` once that has lasted too long. Where
-- nothing was due, or no goods depend on it, no payer has lost anything.
local function enter_unsold(r, tx)
  if tx ~= '' and not takes_nothing(r.kind) then redis.call('ZADD', prefix .. 'unsold', now(), r.id) end
end

-- Before its sale is written, and noted with it.
local function leave_unsold(r)
  -- Both: a process of an older version leaves an entry where it is.
  redis.call('ZREM', prefix .. 'unsold', r.id)
  redis.call('ZREM', prefix .. 'unclaimed', r.id)
  redis.call('HDEL', r.redis_key, 't_unclaimed')
end

-- ---------------------------------------------------------------- the end

local MINUTE = 60

-- Gas fees that were spent for a subject on a day, gwei.
local function spent_key(subject, day)
  return prefix .. 'g:' .. subject .. ':' .. day
end

local function spend(subject, day, gwei)
  redis.call('INCRBY', spent_key(subject, day), string.format('%.0f', gwei))
  redis.call('EXPIRE', spent_key(subject, day), 172800)
end

-- What a payer was sent for a payment, as `<day>:<gwei>`, counts once that is paid: anybody can name a payee.
local function charge_funding(all)
  local day, gwei = string.match(all.funding, '^([^:]+):(%d+)$')
  if day then spend(charged_to(all), day, tonumber(gwei)) end
end

-- Ends a record: what is heavy goes, what answers are made of stays, in one form with a live one.
-- `found` may name tx, block, block_hash, log, batch, reason and paid; `life` the seconds tombstone, retention.
local function conclude(r, event, found, life)
  if not can(r, event) then return false end
  local all = read_all(r)
  move(r, event, found.reason)
  if found.paid and all.funding then charge_funding(all) end
  local at = now()
  local hashes = all.hashes or ''
  local was_sent = hashes ~= '' or found.paid
  -- Another sender has paid it: the transactions of its lane may never have been mined.
  local is_by_others = r.stage == 'foreign' and found.paid
  local tx = found.tx or not is_by_others and all.tx or ''
  if tx == '' and hashes ~= '' and not is_by_others then tx = string.match(hashes, '[^,]+$') end
  local sale = all.sale
  local told = all.told == '1' or (found.paid and sale == 'sold')
  -- A failed settlement that was never acknowledged as paid belongs to no requester.
  if not found.paid and not told then sale = 'open' end
  r.by, r.joined = all.by, all.joined
  -- The one that waited alone has had its answer.
  local is_awaited = not (is_of_one(r) and sale == 'sold' and told and all.sold_to == r.by)
  if is_awaited then
    redis.call('DEL', r.redis_key)
    redis.call('EXPIRE', waiters_key(r.id), WAITERS_KEPT)
  else
    redis.call('DEL', r.redis_key, waiters_key(r.id))
  end
  local fields = { 'stage', r.stage, 'auth', r.auth, 'terms', all.terms, 'signed', all.signed, 'sale', sale,
    't_claimed', all.t_claimed, 't_finished', tostring(at) }
  local function keep(name, value)
    if value and value ~= '' then
      fields[#fields + 1] = name
      fields[#fields + 1] = value
    end
  end
  keep('tx', tx)
  if found.paid then
    keep('paid', '1')
    keep('t_included', all.t_included or tostring(at))
    -- A paid settlement with an open sale may still be sold to an eligible requester.
    if sale == 'open' then
      keep('early', all.early)
      enter_unsold(r, tx)
    end
    -- Its sale may be rolled back.
    if takes_nothing(r.kind) then keep('kind', r.kind) end
  end
  local is_ours = found.paid and not is_by_others
  keep('block', found.block or (is_ours and all.block))
  keep('block_hash', found.block_hash or (is_ours and all.block_hash))
  keep('log', found.log or (is_ours and all.log))
  keep('batch', found.batch or (found.paid and all.batch))
  keep('reason', found.reason)
  keep('settled', all.settled)
  keep('async', all.async)
  if told then keep('told', '1') end
  if sale == 'sold' then
    keep('sold_to', all.sold_to)
    keep('sold_key', all.sold_key)
    keep('kept', all.kept)
  end
  keep('key', all.key)
  redis.call('HSET', r.redis_key, unpack(fields))

  local seconds, details_seconds = life.tombstone, life.retention
  if not was_sent then
    seconds = all.async == '1' and TEN_MINUTES or MINUTE
    details_seconds = seconds
  end
  redis.call('EXPIRE', r.redis_key, seconds)
  local details = { scheme = all.scheme, method = all.method, chain = all.chain, asset = all.asset, payer = all.payer, pay_to = all.pay_to,
    amount = all.amount, nonce = all.nonce, deadline = all.deadline, hashes = all.hashes, t_arrived = all.t_arrived,
    t_allocated = all.t_allocated }
  redis.call('SET', prefix .. 'd:' .. r.id, cjson.encode(details), 'EX', details_seconds)

  local index = index_key(r.auth)
  local claims = has_gone_back() and redis.call('HMGET', index, 'live', 'sold') or { r.id, all.sale == 'sold' and r.id }
  local is_sold_by_it = claims[2] == r.id
  if is_sold_by_it and not told then redis.call('HDEL', index, 'sold') end
  -- The claim an authorization was sold by counts before its last one.
  if was_sent and not (is_sold_by_it and told) then redis.call('HSET', index, 'last', r.id) end
  if claims[1] == r.id then redis.call('HDEL', index, 'live') end
  redis.call('EXPIRE', index, life.tombstone)
  -- A settlement that was sent has its hashes among its details now.
  r.tx, r.paid, r.accepted, r.seconds_left = tx, found.paid, (all.async or '') ~= '', tonumber(seconds)
  note_change(r)
  if is_awaited then publish(r, found.paid and 'finalized' or 'failed', tx, found.reason) end
  r.has_ended = true
  return true
end

-- ---------------------------------------------------------------- resubmitting

local AGAIN_AFTER_MS = { 0, 5000, 15000, 60000 }
-- How often what no goods depend on is resubmitted, within an hour: it may have no deadline.
local AGAIN_MOST = 60

-- Whether success was acknowledged, so that an unpaid end is no end. What no goods depend on is given up after a while:
-- its seller can ask for it again. `is_untried`: it was refused for what the operator is short of.
local function is_owed(r, is_untried)
  if r.sale ~= 'sold' or not r.told then return false end
  if is_untried or not takes_nothing(r.kind) or r.again < AGAIN_MOST then return true end
  write(r, 'told', '')
  r.told = false
  return false
end

-- Success was acknowledged and the attempt died unpaid: the settlement goes back to the queue by itself, first at
-- once, then with growing pauses. Further fields: name, value, ...
local function resubmit(r, ...)
  r.again = r.again + 1
  local pause = AGAIN_AFTER_MS[math.min(r.again, #AGAIN_AFTER_MS)]
  r.due_at = now() + pause
  if not advance(r, 'recollect', 'again', r.again, 'lane', '', 'lane_nonce', '', ...) then return false end
  if pause == 0 then
    r.due_at = nil
    advance(r, 'due')
    redis.call('PUBLISH', root .. 'work:' .. chain, '')
  end
  return true
end

-- The same where nothing was tried, which is not counted: it waits as long as between later tries.
local function put_off(r)
  r.due_at = now() + AGAIN_AFTER_MS[#AGAIN_AFTER_MS]
  return advance(r, 'recollect', 'lane', '', 'lane_nonce', '')
end

-- ---------------------------------------------------------------- requesters

local SALE_FIELDS = { 'stage', 'auth', 'kept', 'told', 't_claimed', 't_included', 'early', 'kind', 'by', 'joined' }
for _, name in ipairs(VIEW_FIELDS) do
  if name ~= 'stage' then SALE_FIELDS[#SALE_FIELDS + 1] = name end
end

-- The fields that the steps of requesters need of a record, and those of its view, or nil where no record exists.
local function read_sale(key)
  local f = read_fields(key, SALE_FIELDS)
  if not f then return nil end
  return {
    redis_key = key, id = string.sub(key, #prefix + 3), stage = f.stage, auth = f.auth, sale = f.sale, sold_to = f.sold_to or '',
    sold_key = f.sold_key or '', kept = f.kept == '1', told = f.told == '1', key = f.key or '', async = f.async == '1',
    hashes = f.hashes or '', tx = f.tx or '', claimed_at = tonumber(f.t_claimed or '0'),
    included_at = tonumber(f.t_included or '0'), paid = f.paid == '1', early = f.early or '', kind = f.kind,
    accepted = (f.async or '') ~= '', by = f.by, joined = f.joined, fields = f,
  }
end

-- The view of a record that a step of a requester has read, with what the step has put.
local function view_of(r)
  if r.has_ended then return view(r.redis_key) end
  local values = {}
  for i, name in ipairs(VIEW_FIELDS) do values[i] = r.fields[name] or false end
  return values
end

-- A requester that has not shown itself for this long is gone.
local WAITER_LIVES_MS = 5000

local function living_waiters(id)
  return redis.call('ZCOUNT', waiters_key(id), '(' .. (now() - WAITER_LIVES_MS), '+inf')
end

-- Notes that a requester waits, and shows that it lives.
local function wait_for(r, requester)
  redis.call('ZADD', waiters_key(r.id), now(), requester)
  redis.call('EXPIRE', waiters_key(r.id), WAITERS_KEPT)
  if is_of_one(r) and requester ~= r.by then redis.call('HSET', r.redis_key, 'joined', '1') end
end

-- Anybody may have the sale that asked before the first broadcast.
local function is_early(r)
  return r.hashes == '' and (r.tx or '') == ''
end

-- 256 credentials of 43 characters.
local EARLY_MAX_CHARACTERS = 256 * 44

-- Notes the credentials of an early requester: arguments[from] and those after it.
local function note_early(r, arguments, from)
  local early, added = r.early, false
  for i = from, #arguments do
    if #early < EARLY_MAX_CHARACTERS and not string.find(early, arguments[i], 1, true) then
      early = early == '' and arguments[i] or (early .. ',' .. arguments[i])
      added = true
    end
  end
  r.early = early
  if added then redis.call('HSET', r.redis_key, 'early', early) end
end

local function is_past_grace(r, grace_ms)
  return r.included_at > 0 and now() >= r.included_at + grace_ms
end

-- Whether a requester with the credentials from arguments[from] on may have the sale.
local function is_eligible(r, grace_ms, arguments, from)
  if is_early(r) then return true end
  for i = from, #arguments do
    if string.find(r.early, arguments[i], 1, true) then return true end
  end
  return is_past_grace(r, grace_ms)
end

local function is_sold_to(r, requester, key)
  return r.sale == 'sold' and (r.sold_to == requester or (key ~= '' and r.sold_key == key))
end

-- The sale of a claim that the ledger lost, as a record has it; else nil.
local function read_lost_sale(text)
  local told, told_key, kept = string.match(text or '', '^([^|]*)|([^|]*)(|?)$')
  return told and { sale = 'sold', sold_to = told, sold_key = told_key, kept = kept ~= '' }
end

local function lost_sale(authorization)
  return has_gone_back() and read_lost_sale(redis.call('GET', prefix .. 't:' .. authorization))
end

-- The same, where it was to another requester with another key.
local function acknowledged_to_another(authorization, requester, key)
  local lost = lost_sale(authorization)
  return lost and not is_sold_to(lost, requester, key) and lost or nil
end

-- Whether another claim of the same authorization is sold to another requester: a lane has stored one again that the
-- ledger had lost, and for which this one was made.
local function is_sold_by_another_claim(r, requester, key)
  if not has_gone_back() then return false end
  local sold = redis.call('HGET', index_key(r.auth), 'sold')
  local other = sold and sold ~= r.id and read_sale(record_key(sold))
  return other and other.sale == 'sold' and not is_sold_to(other, requester, key)
end

-- Whether it has ended unpaid, and success was never acknowledged.
local function is_over_unpaid(r)
  return not r.paid and not r.told and redis.call('HEXISTS', r.redis_key, 't_finished') == 1
end

-- Withdraws a settlement for which nothing was ever signed and no requester waits.
local function withdraw(r, life)
  return conclude(r, 'withdrawn', { reason = 'settlement_not_sent' }, life)
end

-- Whether bytes may have been signed for it that the ledger lost when it went back: for itself where it is older,
-- and for an earlier claim of its authorization where it was made so soon that those bytes were not in a block yet.
local function is_unsure(r, ms)
  local from = tonumber(epoch[2] or '0') + (epoch[3] == '1' and ms or 0)
  return r.claimed_at < from
end

