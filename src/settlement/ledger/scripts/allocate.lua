--- @include "lane"

-- In one step: the account nonce is allocated, the signed bytes and their hash are stored, and every settlement
-- they carry leaves the queue. All or nothing.
-- KEYS[1] epoch, KEYS[2] lane, KEYS[3..] records
-- ARGV[1] epoch, ARGV[2] lease, ARGV[3] account nonce the bytes were signed with, ARGV[4] attempt, JSON,
-- ARGV[5] transaction hash, ARGV[6] seconds details are kept, ARGV[7] what it may cost at most, gwei,
-- ARGV[8] budget of the lane and day, gwei, or empty, ARGV[9] of a payee and day, likewise, ARGV[10] day
-- Returns {'ok'} | {'paused'} | {'nonce', next} | {'gone', ids that are not in the lane's hands...} |
-- {'budget', 'lane'} | {'budget', payee}.
local nonce, hash = ARGV[3], ARGV[5]
-- A repeat of a step that was taken has its answer, whatever an operator has done since.
if redis.call('HGET', lane_key .. ':attempts', nonce) == ARGV[4] then return { 'ok' } end
if is_paused() then return { 'paused' } end
local next_nonce = redis.call('HGET', lane_key, 'next') or ''
if next_nonce ~= nonce then return { 'nonce', next_nonce } end
local records, gone, ids = {}, { 'gone' }, {}
for i = 3, #KEYS do
  local r = read(KEYS[i])
  if r and is_in_work(r) then
    records[#records + 1] = r
    ids[#ids + 1] = r.id
  else
    gone[#gone + 1] = string.sub(KEYS[i], #prefix + 3)
  end
end
if #gone > 1 then return gone end
local full = charge(nonce, tonumber(ARGV[7]), shares_of(records), ARGV[8], ARGV[9], ARGV[10])
if full then return { 'budget', full } end
local at = now()
redis.call('HSET', lane_key, 'next', string.format('%.0f', tonumber(nonce) + 1))
redis.call('HSET', lane_key .. ':attempts', nonce, ARGV[4])
redis.call('SADD', prefix .. 'lanes', lane)
begin_batch()
for _, r in ipairs(records) do
  advance(r, 'allocated', 'lane_nonce', nonce, 'hashes', note_hash(r, hash), 'tx', hash, 't_allocated', at)
end
end_batch()
publish_all(records, 'sent', hash)
list_transaction(hash, ids, ARGV[6])
return { 'ok' }
