--- @include "ledger"

-- What every script of a lane shares. KEYS[2] is the lane, `<prefix>l:<signer>`; ARGV[2] its lease, which is
-- `<processId>:<when it was acquired>` and compared as a whole.

local lane_key = KEYS[2]
local lane = string.sub(lane_key, #prefix + 3)

if redis.call('GET', lane_key .. ':lease') ~= ARGV[2] then
  return redis.error_reply('LEASE the lane is of another process')
end

local function is_paused()
  return redis.call('HEXISTS', prefix .. 'paused', lane) == 1
end

-- Whether an operator has the lane take only what names its signer.
local function is_retiring()
  return redis.call('HEXISTS', prefix .. 'retiring', lane) == 1
end

-- Whether a record is in this lane's hands, or bound to one of its account nonces.
local function is_in_work(r)
  return r.stage == 'work' and r.lane == lane
end

local function is_bound(r, nonce)
  return (r.stage == 'attempt' or r.stage == 'included') and r.lane == lane and r.lane_nonce == nonce
end

local function note_hash(r, hash)
  if string.find(r.hashes, hash, 1, true) then return r.hashes end
  r.hashes = r.hashes == '' and hash or (r.hashes .. ',' .. hash)
  return r.hashes
end

local function list_transaction(hash, ids, seconds)
  if #ids > 0 then redis.call('SET', prefix .. 'x:' .. hash, table.concat(ids, ','), 'EX', seconds) end
end

-- ---------------------------------------------------------------- gas budgets, gwei

-- Charges what an account nonce may cost beyond what it is charged with already, or says whose budget is full.
-- `shares` are the parts of the accounts they are charged to; limits are texts, empty for none.
local function charge(nonce, cost, shares, lane_limit, payee_limit, day, fundings_limit)
  fundings_limit = fundings_limit or ''
  if lane_limit == '' and payee_limit == '' and fundings_limit == '' then return nil end
  local text = redis.call('HGET', lane_key .. ':charges', nonce)
  local before = text and cjson.decode(text) or { day = day, cost = 0, charged = {} }
  local after = { day = before.day, cost = math.max(cost, before.cost), charged = {} }
  for subject, gwei in pairs(before.charged) do after.charged[subject] = gwei end
  local function raise(subject, gwei, limit)
    local more = gwei - (before.charged[subject] or 0)
    if more <= 0 then return true end
    if tonumber(redis.call('GET', spent_key(subject, before.day)) or '0') + more > tonumber(limit) then return false end
    after.charged[subject] = gwei
    return true
  end
  if lane_limit ~= '' and not raise('lane:' .. lane, cost, lane_limit) then return 'lane' end
  if fundings_limit ~= '' and not raise('fundings', cost, fundings_limit) then return 'fundings' end
  if payee_limit ~= '' then
    for payee, part in pairs(shares) do
      if not raise(payee, math.ceil(cost * part), payee_limit) then return payee end
    end
  end
  for subject, gwei in pairs(after.charged) do
    local more = gwei - (before.charged[subject] or 0)
    if more > 0 then spend(subject, before.day, more) end
  end
  redis.call('HSET', lane_key .. ':charges', nonce, cjson.encode(after))
  return nil
end

-- The parts of what a nonce costs, by the account they are charged to: it is shared evenly by what it carries.
local function shares_of(records)
  local shares = {}
  for _, r in ipairs(records) do shares[r.charged_to] = (shares[r.charged_to] or 0) + 1 / #records end
  return shares
end

-- ---------------------------------------------------------------- payers that were sent native coins

local funded_key = prefix .. 'funded'
-- Payers on one chain, about 100 bytes each. Each of them has cost the price of a transfer.
local FUNDED_MOST = 2000000

-- Whether a payer was funded for this account nonce of its own, or for a later one.
local function is_funded(payer, payer_nonce)
  local known = redis.call('HGET', funded_key, payer)
  return known and tonumber(string.match(known, '^%d+')) >= tonumber(payer_nonce)
end

local function note_funded(payer, payer_nonce, how)
  redis.call('HSET', funded_key, payer, string.format('%.0f', tonumber(payer_nonce)) .. ':' .. how)
end
