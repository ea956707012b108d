--- @include "lane"

-- In one step: the account nonce of a funding is allocated, its signed bytes are stored, and it is noted for ever
-- that the payer was funded for this nonce of its own. All or nothing.
-- KEYS[1] epoch, KEYS[2] lane, KEYS[3] record of the settlement that needs it
-- ARGV[1] epoch, ARGV[2] lease, ARGV[3] account nonce the bytes were signed with, ARGV[4] attempt, JSON,
-- ARGV[5] payer, ARGV[6] account nonce of the payer's transaction, ARGV[7] what it may cost at most, value
-- included, gwei, ARGV[8] budget of the lane and day, gwei, or empty, ARGV[9] of a payee and day, likewise, ARGV[10] day,
-- ARGV[11] budget of fundings and day, likewise
-- Returns {'ok'} | {'paused'} | {'nonce', next} | {'gone', id} | {'funded'} | {'budget', 'lane' | 'fundings' | payee}.
local nonce = ARGV[3]
-- A repeat of a step that was taken has its answer, whatever an operator has done since.
if redis.call('HGET', lane_key .. ':attempts', nonce) == ARGV[4] then return { 'ok' } end
if is_paused() then return { 'paused' } end
local next_nonce = redis.call('HGET', lane_key, 'next') or ''
if next_nonce ~= nonce then return { 'nonce', next_nonce } end
local r = read(KEYS[3])
if not r or not is_in_work(r) then return { 'gone', string.sub(KEYS[3], #prefix + 3) } end
if is_funded(ARGV[5], ARGV[6]) then return { 'funded' } end
-- Nothing is forgotten for room: who was funded could be funded again.
if redis.call('HLEN', funded_key) >= FUNDED_MOST then return { 'budget', 'fundings' } end
-- A payee is charged when it is paid. A payer is not funded where the payee's budget would not reach.
local has_limit = ARGV[9] ~= ''
local spent = has_limit and tonumber(redis.call('GET', spent_key(r.charged_to, ARGV[10])) or '0') or 0
if has_limit and spent + tonumber(ARGV[7]) > tonumber(ARGV[9]) then return { 'budget', r.charged_to } end
local full = charge(nonce, tonumber(ARGV[7]), {}, ARGV[8], '', ARGV[10], ARGV[11])
if full then return { 'budget', full } end
if has_limit then redis.call('HSET', r.redis_key, 'funding', ARGV[10] .. ':' .. ARGV[7]) end
sponsor(r, 'funded')
redis.call('HSET', lane_key, 'next', string.format('%.0f', tonumber(nonce) + 1))
redis.call('HSET', lane_key .. ':attempts', nonce, ARGV[4])
redis.call('SADD', prefix .. 'lanes', lane)
note_funded(ARGV[5], ARGV[6], 'sent')
return { 'ok' }
