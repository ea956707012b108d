--- @include "ledger"

-- Lanes with stored attempts and no holder.
-- KEYS[1] epoch, KEYS[2] signers that ever had an attempt
-- ARGV[1] epoch, ARGV[2..] signers that are not asked for
-- Returns signers.
local own, out = {}, {}
for i = 2, #ARGV do own[ARGV[i]] = true end
for _, signer in ipairs(redis.call('SMEMBERS', KEYS[2])) do
  if not own[signer] then
    local key = prefix .. 'l:' .. signer
    if redis.call('EXISTS', key .. ':attempts') == 1 and redis.call('EXISTS', key .. ':lease') == 0 then out[#out + 1] = signer end
  end
end
return out
