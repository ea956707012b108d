--- @include "ledger"

-- The claims of authorizations, those that were sold first, then live, then finished ones.
-- KEYS[1] epoch, KEYS[2..] indexes of authorizations
-- ARGV[1] epoch
-- Returns a list of {id, fields of its record, details JSON or empty}.
local out, seen = {}, {}
for i = 2, #KEYS do
  local index = redis.call('HMGET', KEYS[i], 'sold', 'live', 'last')
  for j = 1, 3 do
    local id = index[j]
    if id and not seen[id] then
      seen[id] = true
      local fields = redis.call('HGETALL', record_key(id))
      if #fields > 0 then out[#out + 1] = { id, fields, redis.call('GET', prefix .. 'd:' .. id) or '' } end
    end
  end
end
return out
