-- Learns the epoch of a chain's ledger, and begins a new one where Redis is another server than the one it
-- was begun on, or holds nothing of it any more.
-- KEYS[1] epoch, KEYS[2] format, KEYS[3] speakers, KEYS[4] awaited
-- ARGV[1] run id of the Redis server, ARGV[2] format version, ARGV[3] ms for which a process is awaited,
-- ARGV[4] the epoch that the caller knew before, or empty
-- Returns {epoch id, when it began (ms)}, or {'format', version found}.
local format = redis.call('GET', KEYS[2])
if format and format ~= ARGV[2] then return { 'format', format } end
local t = redis.call('TIME')
local at = t[1] * 1000 + math.floor(t[2] / 1000)
local found = redis.call('HMGET', KEYS[1], 'run', 'id', 'at', 'back')
if format and found[1] == ARGV[1] and found[2] then
  if found[4] == '1' or ARGV[4] == '' or ARGV[4] == found[2] then return { found[2], found[3] } end
  -- It was emptied, and another process found it first, which had just started. It went back only now, as far as
  -- its processes knew: the caller needs the time to replay its answers.
  redis.call('HSET', KEYS[1], 'back', '1', 'at', at)
  return { found[2], tostring(at) }
end
local id = ARGV[1] .. '.' .. t[1] .. string.format('%06d', t[2])
redis.call('SET', KEYS[2], ARGV[2])
-- Where nothing was there, and no caller knows of anything, nothing is known to be lost.
local is_back = format or ARGV[4] ~= ''
redis.call('HSET', KEYS[1], 'run', ARGV[1], 'id', id, 'at', at, 'back', is_back and '1' or '')
-- What the processes told that lived before may be missing here: they are waited for.
redis.call('DEL', KEYS[4])
for _, process in ipairs(redis.call('HKEYS', KEYS[3])) do redis.call('SADD', KEYS[4], process) end
redis.call('PEXPIRE', KEYS[4], ARGV[3])
return { id, tostring(at) }
