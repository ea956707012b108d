--- @include "ledger"

-- Joins the requesters of a claim, or shows that one of them still waits.
-- KEYS[1] epoch, KEYS[2] record
-- ARGV[1] epoch, ARGV[2] requester, ARGV[3] its key tag or empty, ARGV[4] grace of the sale, ms,
-- ARGV[5] most requesters that wait, ARGV[6..] its credentials
-- Returns {'waiting' | 'owner' (sold to it or its key) | 'non_owner' (sold to another) | 'too_many' | 'done', view} |
-- {'gone'}.
local requester, key = ARGV[2], ARGV[3]
local r = read_sale(KEYS[2])
if not r then return { 'gone' } end
local waiters = waiters_key(r.id)
local is_sold = r.sale == 'sold'
local is_owner = is_sold and is_sold_to(r, requester, key)
-- Of an action on which no goods depend, others wait for the success too, until it is paid.
if is_sold and not is_owner and (r.paid or not takes_nothing(r.kind)) then
  redis.call('ZREM', waiters, requester)
  return { 'non_owner', view_of(r) }
end
local is_new = not redis.call('ZSCORE', waiters, requester)
if is_new and redis.call('ZCARD', waiters) >= tonumber(ARGV[5]) then
  redis.call('ZREMRANGEBYSCORE', waiters, '-inf', now() - WAITER_LIVES_MS)
  if redis.call('ZCARD', waiters) >= tonumber(ARGV[5]) then return { 'too_many', view_of(r) } end
end
if not is_sold then
  if is_new and is_early(r) and #ARGV > 5 then note_early(r, ARGV, 6) end
  if key ~= '' and r.key == '' and is_eligible(r, tonumber(ARGV[4]), ARGV, 6) then
    put(r, 'key', key)
  end
end
wait_for(r, requester)
if is_owner then return { 'owner', view_of(r) } end
return { is_sold and 'non_owner' or 'waiting', view_of(r) }
