--- @include "ledger"

-- After the ledger lost a claim that its requester knows, and whose payment one of our own signers made: a finished
-- record, sold to that requester.
-- KEYS[1] epoch, KEYS[2] record, KEYS[3] index of the authorization, KEYS[4] lost sale of the authorization
-- ARGV[1] epoch, ARGV[2] requester, ARGV[3] its key tag or empty, ARGV[4] seconds it is kept,
-- ARGV[5] ms after a ledger went back in which nothing is adopted in any case, ARGV[6..] fields: name, value, ...
-- Returns {'sold', view}, to other requesters of its key too | {'known'} where the ledger has a claim of this
-- authorization, or another requester got success | {'not_yet'} while processes may still have to replay their answers.
local index = redis.call('HMGET', KEYS[3], 'live', 'sold', 'last')
for i = 1, 3 do
  if index[i] and 'x' .. index[i] ~= 'x' .. string.sub(KEYS[2], #prefix + 3)
    and redis.call('EXISTS', record_key(index[i])) == 1 then return { 'known' } end
end
if redis.call('EXISTS', KEYS[2]) == 0 then
  if is_awaiting(tonumber(ARGV[5])) then return { 'not_yet' } end
  if acknowledged_to_another(string.match(KEYS[4], '[^:]*$'), ARGV[2], ARGV[3]) then return { 'known' } end
  local at = now()
  redis.call('HSET', KEYS[2], 'stage', 'finalized', 'paid', '1', 'sale', 'sold', 'sold_to', ARGV[2], 'sold_key', ARGV[3],
    'told', '1', 'key', ARGV[3], 't_claimed', at, 't_included', at, 't_finished', at, unpack(ARGV, 6))
  redis.call('EXPIRE', KEYS[2], ARGV[4])
  redis.call('HSET', KEYS[3], 'sold', string.sub(KEYS[2], #prefix + 3), 'last', string.sub(KEYS[2], #prefix + 3))
  redis.call('EXPIRE', KEYS[3], ARGV[4])
  note_change({ redis_key = KEYS[2], id = string.sub(KEYS[2], #prefix + 3), stage = 'finalized', paid = true,
    tx = redis.call('HGET', KEYS[2], 'tx') })
end
local r = read_sale(KEYS[2])
if not is_sold_to(r, ARGV[2], ARGV[3]) then return { 'known' } end
-- A sale to two requesters of one key cannot be taken back by one of them.
if r.sold_to ~= ARGV[2] then put(r, 'kept', '1') end
return { 'sold', view(KEYS[2]) }
