-- Notes a claim under a label. The same claim may be noted again: it becomes the newest.
-- KEYS[1] claims of the label
-- ARGV[1] the claim, ARGV[2] most of them, ARGV[3] seconds they are kept
-- Returns 1.
local t = redis.call('TIME')
redis.call('ZADD', KEYS[1], t[1] * 1000000 + t[2], ARGV[1])
redis.call('ZREMRANGEBYRANK', KEYS[1], 0, -1 - ARGV[2])
redis.call('EXPIRE', KEYS[1], ARGV[3])
return 1
