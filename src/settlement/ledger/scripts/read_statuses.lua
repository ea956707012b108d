-- What lanes, or processes, last said of themselves. Those that are silent too long are forgotten; each comes back
-- with its next word.
-- KEYS[1] statuses of lanes
-- ARGV[1] ms after which one is forgotten, or 0 for never
-- Returns {now, list of `<time>|<JSON>`}, times in milliseconds.
local t = redis.call('TIME')
local now, live = t[1] * 1000 + math.floor(t[2] / 1000), {}
local flat = redis.call('HGETALL', KEYS[1])
for i = 1, #flat, 2 do
  local said_at = tonumber(string.match(flat[i + 1], '^%d+'))
  if ARGV[1] ~= '0' and now - said_at > tonumber(ARGV[1]) then
    redis.call('HDEL', KEYS[1], flat[i])
  else
    live[#live + 1] = flat[i + 1]
  end
end
return { string.format('%.0f', now), live }
