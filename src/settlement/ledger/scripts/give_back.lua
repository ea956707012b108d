--- @include "lane"

-- What a lane has taken and will not send now: ready again, or in some time.
-- KEYS[1] epoch, KEYS[2] lane, KEYS[3..] records
-- ARGV[1] epoch, ARGV[2] lease, ARGV[3] ms until then, or empty, ARGV[4] 1 where that counts as a try
-- Returns 1.
for i = 3, #KEYS do
  local r = read(KEYS[i])
  if r and is_in_work(r) then
    if ARGV[3] == '' then
      advance(r, 'given_back', 'lane', '')
    else
      r.due_at = now() + tonumber(ARGV[3])
      advance(r, 'postponed', 'lane', '')
      if ARGV[4] == '1' then redis.call('HINCRBY', r.redis_key, 'tries', 1) end
    end
  end
end
return 1
