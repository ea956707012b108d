-- The step is one caller's, with keys and arguments of its own after the epoch. It runs for several callers.
-- ARGV[2] how many, then of each: how many keys, how many arguments, these arguments. KEYS of all in the same order.
-- Returns for each {1, what its step returned} | {0, why it failed}.
local replies, key_at, argument_at = {}, 2, 3
begin_batch()
for i = 1, tonumber(ARGV[2]) do
  local keys, arguments = { KEYS[1] }, { ARGV[1] }
  local key_count, argument_count = tonumber(ARGV[argument_at]), tonumber(ARGV[argument_at + 1])
  for at = key_at, key_at + key_count - 1 do keys[#keys + 1] = KEYS[at] end
  for at = argument_at + 2, argument_at + 1 + argument_count do arguments[#arguments + 1] = ARGV[at] end
  key_at, argument_at = key_at + key_count, argument_at + 2 + argument_count
  -- What one step is refused does not undo what the others have written: the lists of those are written below.
  local is_done, reply = pcall(step, keys, arguments)
  replies[i] = is_done and { 1, reply } or { 0, type(reply) == 'table' and reply.err or tostring(reply) }
end
end_batch()
return replies
