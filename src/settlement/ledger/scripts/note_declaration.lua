-- Notes what a claim was declared with. The same content is kept once, with the number of notes that name it.
-- KEYS[1] notes, KEYS[2] contents by tag, KEYS[3] notes that name a tag, and `characters` of all contents
-- ARGV[1] the claim, ARGV[2] tag, ARGV[3] content, ARGV[4] most notes, ARGV[5] most characters
-- Returns 1, or 0 where there is no room.
if redis.call('XLEN', KEYS[1]) >= tonumber(ARGV[4]) then
  return 0
end
if redis.call('HEXISTS', KEYS[2], ARGV[2]) == 0 then
  local held = tonumber(redis.call('HGET', KEYS[3], 'characters') or '0')
  if held + #ARGV[3] > tonumber(ARGV[5]) then
    return 0
  end
  redis.call('HSET', KEYS[2], ARGV[2], ARGV[3])
  redis.call('HINCRBY', KEYS[3], 'characters', #ARGV[3])
end
redis.call('HINCRBY', KEYS[3], ARGV[2], 1)
redis.call('XADD', KEYS[1], '*', 'id', ARGV[1], 'tag', ARGV[2])
return 1
