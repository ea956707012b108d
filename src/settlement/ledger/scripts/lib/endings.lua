-- An ending as nine arguments: state, paid (1 or 0), transaction, block, block hash, log, batch size, reason,
-- 1 where its own transaction used the authorization without paying it. An empty one leaves what is stored.
local ENDING = 9

local EVENT_OF = { finalized = 'finalized_paid', reverted = 'finalized_unpaid_reverted', expired = 'expired' }

-- Ends a record, or resubmits it where success was acknowledged and the authorization is unused.
-- Returns 'ended', 'again', or nil where the machine allows neither.
local function end_record(r, from, life)
  local function given(offset)
    local text = ARGV[from + offset]
    if text == '' then return nil end
    return text
  end
  local state, paid = ARGV[from], ARGV[from + 1] == '1'
  local event = EVENT_OF[state] or (paid and 'used_by_other_paid' or 'used_by_other_unpaid')
  if state == 'reverted' and not given(8) and is_owed(r) then
    local tx = given(2)
    local is_again = tx and resubmit(r, 'tx', tx) or not tx and resubmit(r)
    return is_again and 'again' or nil
  end
  local found = { paid = paid, tx = given(2), block = given(3), block_hash = given(4), log = given(5), batch = given(6), reason = given(7) }
  return conclude(r, event, found, life) and 'ended' or nil
end

-- Whether a record is there and has not ended.
local function is_unfinished(r)
  if not r or r.has_ended then return false end
  if r.all then return not r.all.t_finished end
  return redis.call('HEXISTS', r.redis_key, 't_finished') == 0
end
