--- @include "ledger"

-- A requester's time is up, or its client closed the connection. Where nothing was ever signed and no 202 was answered,
-- the end of its time ends the claim for all; so does the leaving of the last.
-- KEYS[1] epoch, KEYS[2] record
-- ARGV[1] epoch, ARGV[2] requester, ARGV[3] `timeout` or `closed`, ARGV[4] a hash the requester knows, or empty,
-- ARGV[5] ms after a ledger went back within which a claim may have been signed for before,
-- ARGV[6] seconds a finished record is kept, ARGV[7] seconds details are kept
-- Returns {'withdrawn' | 'left' | 'unsure', view} | {'gone'}.
local r = read_sale(KEYS[2])
if not r then return { 'gone' } end
redis.call('ZREM', waiters_key(r.id), ARGV[2])
local known_hash = ARGV[4]
if known_hash ~= '' and can(r, 'restored') and not string.find(r.hashes, known_hash, 1, true) then
  r.hashes = r.hashes == '' and known_hash or (r.hashes .. ',' .. known_hash)
  put(r, 'hashes', r.hashes)
end
if not is_early(r) or r.async or not can(r, 'withdrawn') then return { 'left', view_of(r) } end
if ARGV[3] ~= 'timeout' and living_waiters(r.id) > 0 then return { 'left', view_of(r) } end
if is_unsure(r, tonumber(ARGV[5])) then return { 'unsure', view_of(r) } end
withdraw(r, { tombstone = ARGV[6], retention = ARGV[7] })
return { 'withdrawn', view_of(r) }
