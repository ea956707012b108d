/**
 * Scripts of what lanes and processes say of themselves. Whether somebody is silent is told by the clock
 * of Redis alone: those of the processes may differ.
 */

/** ARGV: lane, status JSON. */
export const PUBLISH_STATUS = String.raw`
redis.call('HSET', P .. 'lanes', ARGV[1], string.format('%.0f', now()) .. '|' .. ARGV[2])
return 1
`;

/** Returns {now, list of `<time>|<status JSON>`}, times in milliseconds. */
export const READ_STATUSES = String.raw`
return { string.format('%.0f', now()), redis.call('HVALS', P .. 'lanes') }
`;

/** ARGV: process, report JSON, ms after which it counts as silent. */
export const REPORT_PROCESS = String.raw`
redis.call('SET', P .. 'p:' .. ARGV[1], '1', 'PX', ARGV[3])
redis.call('HSET', P .. 'processes', ARGV[1], ARGV[2])
return 1
`;

/** Returns the reports of living processes, and forgets the others; each comes back with its next report. */
export const READ_PROCESSES = String.raw`
local flat, live = redis.call('HGETALL', P .. 'processes'), {}
for i = 1, #flat, 2 do
  if redis.call('EXISTS', P .. 'p:' .. flat[i]) == 1 then
    live[#live + 1] = flat[i + 1]
  else
    redis.call('HDEL', P .. 'processes', flat[i])
  end
end
return live
`;
