-- What a lane, or a process, says of itself, stamped by the clock of Redis: those of processes may differ.
-- KEYS[1] statuses of lanes
-- ARGV[1] who, ARGV[2] what, JSON
-- Returns 1.
local t = redis.call('TIME')
redis.call('HSET', KEYS[1], ARGV[1], string.format('%.0f', t[1] * 1000 + math.floor(t[2] / 1000)) .. '|' .. ARGV[2])
return 1
