import { WALLET_PREFIX } from '../wallet-keys.js';

/**
 * Running sums of the counted charges, for scripts. Amounts are texts of 78 digits: they compare as texts and are added
 * in six parts of 13 digits, which are exact in Lua's numbers.
 *
 * An entry is written `2|<asset>|<amount>|<payTo>|<deadline>|<flag>`; the first part is the version of the format. It
 * is in the sums while its id is in `z:`. Each step moves the window: entries whose deadline leaves it go to `o:`, and
 * return when the window is made longer. The cost of a step does not grow with the number of payments.
 */
export const SUMS = String.raw`
local P = '${WALLET_PREFIX}'
local ZERO = string.rep('0', 78)
-- Entries moved in one step; Redis answers others between the steps.
local STEP = 200
-- The longest window there may be: entries are kept for as long beyond the window.
local KEPT_SECONDS = 2592000

local function add(a, b)
  local parts, carry = {}, 0
  for at = 66, 1, -13 do
    local sum = tonumber(string.sub(a, at, at + 12)) + tonumber(string.sub(b, at, at + 12)) + carry
    carry = sum >= 1e13 and 1 or 0
    table.insert(parts, 1, string.format('%013.0f', sum - carry * 1e13))
  end
  return table.concat(parts), carry == 1
end

-- Of a smaller from a larger number.
local function sub(a, b)
  local parts, borrow = {}, 0
  for at = 66, 1, -13 do
    local left = tonumber(string.sub(a, at, at + 12)) - tonumber(string.sub(b, at, at + 12)) - borrow
    borrow = left < 0 and 1 or 0
    table.insert(parts, 1, string.format('%013.0f', left + borrow * 1e13))
  end
  return table.concat(parts)
end

local function terms_of(asset, amount, pay_to)
  return '2|' .. asset .. '|' .. amount .. '|' .. pay_to .. '|'
end

local function split(entry)
  return string.match(entry, '^(2|[^|]+|%d+|[^|]+|)(%d+)|(%a)$')
end

-- Takes an entry into the sums, or out of them: of its asset, and of its asset and payee.
local function count(wallet, entry, how)
  local asset, amount, pay_to = string.match(entry, '^2|([^|]+)|(%d+)|([^|]+)|')
  for _, field in ipairs({ asset, asset .. '|' .. pay_to }) do
    local sum = how(redis.call('HGET', P .. 's:' .. wallet, field) or ZERO, amount)
    if sum == ZERO then redis.call('HDEL', P .. 's:' .. wallet, field)
    else redis.call('HSET', P .. 's:' .. wallet, field, sum) end
  end
end

local function forget(wallet, set, before)
  local old = redis.call('ZRANGEBYSCORE', P .. set .. wallet, '-inf', before, 'LIMIT', 0, STEP)
  for _, id in ipairs(old) do
    redis.call('ZREM', P .. set .. wallet, id)
    redis.call('HDEL', P .. 'e:' .. wallet, id)
  end
end

-- Makes the sums those of all entries whose deadline is not before this time. Replies whether it is
-- done; asked again it goes on.
local function slide(wallet, since)
  local z, o, e = P .. 'z:' .. wallet, P .. 'o:' .. wallet, P .. 'e:' .. wallet
  local function move(from, to, min, max, how)
    local ids = redis.call('ZRANGEBYSCORE', from, min, max, 'WITHSCORES', 'LIMIT', 0, STEP)
    for at = 1, #ids, 2 do
      local entry = redis.call('HGET', e, ids[at])
      redis.call('ZREM', from, ids[at])
      if entry then
        count(wallet, entry, how)
        redis.call('ZADD', to, ids[at + 1], ids[at])
      end
    end
    return #ids < 2 * STEP
  end
  local is_out = move(z, o, '-inf', '(' .. since, sub)
  local is_in = move(o, z, since, '+inf', add)
  forget(wallet, 'o:', '(' .. (since - KEPT_SECONDS))
  forget(wallet, 'd:', '(' .. (since - KEPT_SECONDS))
  return is_out and is_in
end

local function remembered(wallet)
  local all = 0
  for _, set in ipairs({ 'z:', 'o:', 'd:' }) do all = all + redis.call('ZCARD', P .. set .. wallet) end
  return all
end

-- What counts in one asset, to some payees (comma-separated) or to all ('*').
local function spent(wallet, asset, payees)
  if payees == '*' then return redis.call('HGET', P .. 's:' .. wallet, asset) or ZERO end
  local fields, sum = {}, ZERO
  for payee in string.gmatch(payees, '[^,]+') do fields[#fields + 1] = asset .. '|' .. payee end
  for from = 1, #fields, 500 do
    local chunk = redis.call('HMGET', P .. 's:' .. wallet, unpack(fields, from, math.min(from + 499, #fields)))
    for _, one in ipairs(chunk) do if one then sum = add(sum, one) end end
  end
  return sum
end
`;
