--- @include "ledger"

-- Removes finished settlements for which the archive answers from here on; only what is as it was when it was compared
-- with the archive.
-- KEYS[1] epoch, KEYS[2..] records
-- ARGV[1] epoch, then for each record its digest (see `read_evictable.lua`) and `leaves`, `stays` (until it changes) or `later`
-- Returns how many were removed.
local cooling = prefix .. 'cooling'

-- Whether no other claim of the authorization is left that counts less: it would be taken for the one that counts.
local function is_last_of(authorization, id)
  local claims = redis.call('HMGET', index_key(authorization), 'sold', 'live', 'last')
  local rank = #claims + 1
  for i = #claims, 1, -1 do
    if claims[i] == id then rank = i end
  end
  for i = rank + 1, #claims do
    if claims[i] and claims[i] ~= id and redis.call('EXISTS', record_key(claims[i])) == 1 then return false end
  end
  return true
end

-- The list of a transaction goes with the last settlement of it.
local function forget_transaction(hash)
  local key = prefix .. 'x:' .. hash
  for _, id in ipairs(split(redis.call('GET', key) or '', ',')) do
    if redis.call('EXISTS', record_key(id)) == 1 then return end
  end
  redis.call('DEL', key)
end

local function remove(key, id, fields, details)
  local payment = details ~= '' and cjson.decode(details) or {}
  redis.call('DEL', key, prefix .. 'd:' .. id, waiters_key(id))
  redis.call('ZREM', cooling, id)
  local index = index_key(fields.auth)
  for _, name in ipairs({ 'sold', 'live', 'last' }) do
    if redis.call('HGET', index, name) == id then redis.call('HDEL', index, name) end
  end
  for _, hash in ipairs(split(payment.hashes or fields.tx, ',')) do forget_transaction(hash) end
  if payment.payer then redis.call('ZREM', prefix .. 'y:' .. payment.payer, id) end
end

local removed = 0
for i = 2, #KEYS do
  local key, digest, verdict = KEYS[i], ARGV[2 * i - 2], ARGV[2 * i - 1]
  local id = string.sub(key, #prefix + 3)
  local flat = redis.call('HGETALL', key)
  local details = redis.call('GET', prefix .. 'd:' .. id) or ''
  -- A record that has changed since is looked at again when its time comes.
  if #flat > 0 and redis.sha1hex(cjson.encode(flat) .. details) == digest then
    local fields = {}
    for at = 1, #flat, 2 do fields[flat[at]] = flat[at + 1] end
    if verdict == 'stays' then
      redis.call('ZREM', cooling, id)
    elseif verdict == 'leaves' and is_last_of(fields.auth, id) then
      remove(key, id, fields, details)
      removed = removed + 1
    else
      redis.call('ZADD', cooling, now(), id)
    end
  end
end
return removed
