--- @include "ledger"

-- Finished settlements without a change for a while, as they are now. Changes in the outbox that are not archived yet
-- are left out.
-- KEYS[1] epoch
-- ARGV[1] epoch, ARGV[2] ms since their last change, ARGV[3] most of them
-- Returns {'behind'} where too much waits to be archived | {'read', settlements}, a settlement {id, fields of the
-- record: name, value, ..., details JSON or empty, digest of both}.
local PENDING_MOST = 1000
local entries = redis.call('XRANGE', outbox, '-', '+', 'COUNT', PENDING_MOST)
if #entries == PENDING_MOST then return { 'behind' } end
local pending = {}
for _, entry in ipairs(entries) do pending[entry[2][2]] = true end

local cooling, found = prefix .. 'cooling', {}
local until_ms = now() - tonumber(ARGV[2])
for _, id in ipairs(redis.call('ZRANGEBYSCORE', cooling, '-inf', string.format('%.0f', until_ms), 'LIMIT', 0, ARGV[3])) do
  local fields = redis.call('HGETALL', record_key(id))
  if #fields == 0 then
    -- Its time was over, or another one has removed it.
    redis.call('ZREM', cooling, id)
  elseif not pending[id] then
    local details = redis.call('GET', prefix .. 'd:' .. id) or ''
    found[#found + 1] = { id, fields, details, redis.sha1hex(cjson.encode(fields) .. details) }
  end
end
return { 'read', found }
