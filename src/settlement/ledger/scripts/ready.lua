--- @include "ledger"

-- Marks settlements as ready for the lanes of their chain. Those that are not pending any more are passed over,
-- so that a job may be run any number of times.
-- KEYS[1] epoch, KEYS[2..] records
-- ARGV[1] epoch, ARGV[2] channel of work
-- Returns how many became ready.
local count = 0
begin_batch()
for i = 2, #KEYS do
  local r = read(KEYS[i])
  if r then
    if advance(r, 'job_seen') then count = count + 1 end
  else
    redis.call('ZREM', prefix .. 'pending', string.sub(KEYS[i], #prefix + 3))
  end
end
end_batch()
if count > 0 then redis.call('PUBLISH', ARGV[2], '') end
return count
