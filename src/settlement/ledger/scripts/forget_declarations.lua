-- Forgets notes, and contents that no note names any more.
-- KEYS[1] notes, KEYS[2] contents by tag, KEYS[3] notes that name a tag, and `characters` of all contents
-- ARGV[1], ARGV[2] entry and tag of a note; and so on for each
-- Returns how many were forgotten; one that is gone already counts for nothing.
local forgotten = 0
for index = 1, #ARGV, 2 do
  if redis.call('XDEL', KEYS[1], ARGV[index]) == 1 then
    forgotten = forgotten + 1
    local tag = ARGV[index + 1]
    if redis.call('HINCRBY', KEYS[3], tag, -1) <= 0 then
      redis.call('HINCRBY', KEYS[3], 'characters', -redis.call('HSTRLEN', KEYS[2], tag))
      redis.call('HDEL', KEYS[2], tag)
      redis.call('HDEL', KEYS[3], tag)
    end
  end
end
return forgotten
