--- @include "ledger"
--- @include "endings"

-- Applies the findings about parked settlements.
-- KEYS[1] epoch, KEYS[2..] records
-- ARGV[1] epoch, ARGV[2] seconds a finished record is kept, ARGV[3] seconds details are kept, then ten a record:
-- `ended`, `requeue` or `again`; for `ended` an ending; for `again` why and when (ms), the rest empty
-- Returns ids of `ended` that have not ended: they are resubmitted, by this step or by one whose reply was lost.
local life, again = { tombstone = ARGV[2], retention = ARGV[3] }, {}
for i = 2, #KEYS do
  local r = read(KEYS[i])
  local from = 4 + (i - 2) * (ENDING + 1)
  local kind = ARGV[from]
  if r and r.stage == 'parked' then
    if kind == 'ended' then
      end_record(r, from + 1, life)
    elseif kind == 'requeue' then
      -- Looks at a parked settlement are no tries of its simulation.
      advance(r, 'unparked', 'tries', 0)
      redis.call('PUBLISH', root .. 'work:' .. chain, '')
    else
      redis.call('ZADD', prefix .. 'parked', ARGV[from + 2], r.id)
      redis.call('HSET', r.redis_key, 'why', ARGV[from + 1])
      redis.call('HINCRBY', r.redis_key, 'tries', 1)
    end
  end
  if kind == 'ended' and is_unfinished(r) then again[#again + 1] = r.id end
end
return again
