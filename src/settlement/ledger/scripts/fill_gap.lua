--- @include "lane"

-- Stores a transaction for an account nonce that was allocated and of which nothing is stored.
-- KEYS[1] epoch, KEYS[2] lane
-- ARGV[1] epoch, ARGV[2] lease, ARGV[3] account nonce, ARGV[4] attempt, JSON,
-- ARGV[5] what it may cost at most, gwei, ARGV[6] budget of the lane and day, gwei, or empty, ARGV[7] day
-- Returns {'ok'} | {'lost'} where something else is stored or the nonce was never allocated | {'budget', 'lane'}.
local nonce, attempts = ARGV[3], lane_key .. ':attempts'
if redis.call('HGET', attempts, nonce) == ARGV[4] then return { 'ok' } end
local next_nonce = tonumber(redis.call('HGET', lane_key, 'next') or '0')
if tonumber(nonce) >= next_nonce or redis.call('HEXISTS', attempts, nonce) == 1 then return { 'lost' } end
local full = charge(nonce, tonumber(ARGV[5]), {}, ARGV[6], '', ARGV[7])
if full then return { 'budget', full } end
redis.call('SADD', prefix .. 'lanes', lane)
redis.call('HSET', attempts, nonce, ARGV[4])
return { 'ok' }
