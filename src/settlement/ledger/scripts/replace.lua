--- @include "lane"

-- Stores another transaction for an account nonce that is allocated, before it is sent.
-- KEYS[1] epoch, KEYS[2] lane, KEYS[3..] records it carries
-- ARGV[1] epoch, ARGV[2] lease, ARGV[3] account nonce, ARGV[4] attempt, JSON, ARGV[5] hash, empty for one that
-- settles nothing,
-- ARGV[6] seconds details are kept, ARGV[7] what the nonce may cost at most now, gwei,
-- ARGV[8] budget of the lane and day, gwei, or empty, ARGV[9] of a payee and day, likewise, ARGV[10] day,
-- ARGV[11] budget of fundings and day, likewise
-- Returns {'ok'} | {'lost'} where there is no such attempt | {'budget', 'lane' | 'fundings' | payee}.
local nonce, hash = ARGV[3], ARGV[5]
local attempts = lane_key .. ':attempts'
if redis.call('HEXISTS', attempts, nonce) == 0 then return { 'lost' } end
local records, ids = {}, {}
for i = 3, #KEYS do
  local r = read(KEYS[i])
  if r and r.stage == 'attempt' and is_bound(r, nonce) then
    records[#records + 1] = r
    ids[#ids + 1] = r.id
  end
end
local full = charge(nonce, tonumber(ARGV[7]), shares_of(records), ARGV[8], ARGV[9], ARGV[10], ARGV[11])
if full then return { 'budget', full } end
redis.call('HSET', attempts, nonce, ARGV[4])
-- A no-op carries no payment: its hash is not the hash of any settlement.
if hash == '' then return { 'ok' } end
for _, r in ipairs(records) do advance(r, 'replaced', 'hashes', note_hash(r, hash), 'tx', hash) end
publish_all(records, 'sent', hash)
list_transaction(hash, ids, ARGV[6])
return { 'ok' }
