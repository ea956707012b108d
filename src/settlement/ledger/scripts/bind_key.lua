-- Binds an idempotency key to a payment, or shows its present binding.
-- KEYS[1] idempotency key
-- ARGV[1] binding: `<payment>|<requester>`, ARGV[2] seconds it is kept,
-- ARGV[3] ms after which a binding of the same payment is renewed
-- Returns {'bound', when (ms)} | {'other', value}.
local t = redis.call('TIME')
local at = t[1] * 1000 + math.floor(t[2] / 1000)
local found = redis.call('GET', KEYS[1])
if found then
  local payment, _, bound_at = string.match(found, '^([^|]*)|([^|]*)|(%d+)$')
  if payment ~= string.match(ARGV[1], '^[^|]*') then return { 'other', found, tostring(at) } end
  if at - tonumber(bound_at) < tonumber(ARGV[3]) then return { 'bound', bound_at, tostring(at) } end
end
redis.call('SET', KEYS[1], ARGV[1] .. '|' .. at, 'EX', ARGV[2])
return { 'bound', tostring(at), tostring(at) }
