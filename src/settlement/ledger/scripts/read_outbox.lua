--- @include "ledger"

-- Changes that are not archived, oldest first, for the one process that archives this chain.
-- KEYS[1] epoch, KEYS[2] lease of the archiver
-- ARGV[1] epoch, ARGV[2] process, ARGV[3] lease, ms, ARGV[4] most entries
-- Returns {'held'} while another process archives | {'read', id of the last entry read or empty, changes}, a change
-- {id, version, fields of the record: name, value, ..., or as JSON, details JSON or empty, id of the newest entry read
-- that names it}; without fields where the record is gone.
local holder = redis.call('GET', KEYS[2])
if holder and holder ~= ARGV[2] then return { 'held' } end
redis.call('SET', KEYS[2], ARGV[2], 'PX', ARGV[3])
local entries = redis.call('XRANGE', outbox, '-', '+', 'COUNT', ARGV[4])
if #entries == 0 then return { 'read', '', {} } end
-- A record is read as it is now, so it includes the changes of all entries so far.
local newest = redis.call('XREVRANGE', outbox, '+', '-', 'COUNT', 1)[1][1]
local changes, seen = {}, {}
for _, entry in ipairs(entries) do
  local id, record, details = entry[2][2], entry[2][4], entry[2][6]
  if record then
    changes[#changes + 1] = { id, entry[1], record, details, entry[1] }
  elseif seen[id] then
    seen[id][5] = entry[1]
  else
    local kept = redis.call('GET', prefix .. 'd:' .. id) or ''
    seen[id] = { id, newest, redis.call('HGETALL', record_key(id)), kept, entry[1] }
    changes[#changes + 1] = seen[id]
  end
end
return { 'read', entries[#entries][1], changes }
