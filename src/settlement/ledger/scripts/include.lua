--- @include "lane"

-- Settlements were seen paid in a block that may still be replaced.
-- KEYS[1] epoch, KEYS[2] lane, KEYS[3..] records
-- ARGV[1] epoch, ARGV[2] lease, ARGV[3] account nonce, ARGV[4] hash, ARGV[5] block number, ARGV[6] block hash,
-- ARGV[7] batch size, ARGV[8..] log indexes, one a record
-- Returns 1.
local at, records = now(), {}
for i = 3, #KEYS do
  local r = read(KEYS[i])
  if r and is_bound(r, ARGV[3]) then
    local told = (r.told or r.async) and '1' or ''
    advance(r, 'included', 'tx', ARGV[4], 'block', ARGV[5], 'block_hash', ARGV[6], 'batch', ARGV[7], 'log', ARGV[i + 5],
      't_included', r.included_at > 0 and r.included_at or at, 'told', told)
    records[#records + 1] = r
  end
end
publish_all(records, 'included', ARGV[4])
return 1
