-- Binds an idempotency key to a payment, or shows its present binding. The newest requester of a payment holds the
-- binding, so that an earlier one that gives its own up late, after an outage, does not take it away.
-- KEYS[1] idempotency key
-- ARGV[1] binding: `<payment>|<requester>`, ARGV[2] seconds it is kept
-- Returns {'bound'} | {'other', value, now (ms)}.
local t = redis.call('TIME')
local at = t[1] * 1000 + math.floor(t[2] / 1000)
local found = redis.call('GET', KEYS[1])
if found and string.match(found, '^[^|]*') ~= string.match(ARGV[1], '^[^|]*') then
  return { 'other', found, tostring(at) }
end
redis.call('SET', KEYS[1], ARGV[1] .. '|' .. at, 'EX', ARGV[2])
return { 'bound' }
