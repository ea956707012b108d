-- Gives the archiving of a chain up.
-- KEYS[1] lease of the archiver
-- ARGV[1] process
-- Returns 1 where it was this process's, else 0.
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])
