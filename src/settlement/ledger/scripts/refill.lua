--- @include "lane"

-- In one step: the account nonce of a refill is allocated, its signed bytes are stored, and the day is charged with
-- all that it may cost. All or nothing, and nothing while anything else of the treasury is not final.
-- KEYS[1] epoch, KEYS[2] lane of the treasury
-- ARGV[1] epoch, ARGV[2] lease, ARGV[3] account nonce the bytes were signed with, ARGV[4] attempt, JSON,
-- ARGV[5] signer of the lane that is refilled, ARGV[6] what it may cost at most, value included, gwei,
-- ARGV[7] cap of the day, gwei, ARGV[8] day, ARGV[9] what people are shown of it, JSON
-- Returns {'ok'} | {'paused'} | {'nonce', next} | {'in_flight'} | {'budget', 'lane'}.
local nonce = ARGV[3]
-- A repeat of a step that was taken has its answer, whatever an operator has done since.
if redis.call('HGET', lane_key .. ':attempts', nonce) == ARGV[4] then return { 'ok' } end
if is_paused() then return { 'paused' } end
local next_nonce = redis.call('HGET', lane_key, 'next') or ''
if next_nonce ~= nonce then return { 'nonce', next_nonce } end
if redis.call('HLEN', lane_key .. ':attempts') > 0 then return { 'in_flight' } end
-- A text that is no number is no cap: then nothing is sent.
local cap, cost = tonumber(ARGV[7]), tonumber(ARGV[6])
if not cap or not cost then return redis.error_reply('REFILL without a cap') end
local full = charge(nonce, cost, {}, ARGV[7], '', ARGV[8])
if full then return { 'budget', full } end
redis.call('HSET', lane_key, 'next', string.format('%.0f', tonumber(nonce) + 1), 'refill', ARGV[9])
redis.call('HSET', lane_key .. ':attempts', nonce, ARGV[4])
redis.call('SADD', prefix .. 'lanes', lane, ARGV[5])
return { 'ok' }
