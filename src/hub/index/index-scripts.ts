import { script } from '../../redis/redis-scripts.js';

/**
 * The scripts of the hub's index. `meta` says which data the index is of and how far it goes; every script
 * asserts it, so that a lost index, one of other data and one that was set back are never read as "there
 * is no such file".
 *
 * An entry is written `<order>|<JSON>`. Applying an entry twice, or entries of different writers in
 * another order, gives the same index: what is older never replaces what is newer.
 */
const PRELUDE = String.raw`
local I = 'hub:i:'
local function is_known(generation, known)
  local m = redis.call('HMGET', I .. 'meta', 'generation', 'last')
  return m[1] == generation and tonumber(m[2]) >= tonumber(known)
end

-- Takes an id out of everything it was listed in; the emptied lists go too.
local function unlist(ko, kid, owner, id, old)
  local json = cjson.decode(old)
  local kb = json.kb
  redis.call('ZREM', I .. 'bi:' .. ko .. ':' .. kb, id)
  if redis.call('EXISTS', I .. 'bi:' .. ko .. ':' .. kb) == 0 then
    redis.call('ZREM', I .. 'b:' .. ko, json.bucket)
  end
  if json.kc then
    redis.call('ZREM', I .. 'm:' .. ko .. ':' .. json.kc, id)
    if redis.call('EXISTS', I .. 'm:' .. ko .. ':' .. json.kc) == 0 then
      redis.call('ZREM', I .. 'c:' .. ko, json.conversation)
    end
  end
  redis.call('ZREM', I .. 'ids:' .. ko, id)
  redis.call('ZREM', I .. 'n:' .. kid, owner)
  redis.call('ZREM', I .. 'recent', ko .. ':' .. kid)
end

local function apply(op, order, owner, ko, id, kid, text)
  local old = redis.call('HGET', I .. 'o:' .. ko, id)
  local old_order, old_json
  if old then old_order, old_json = string.match(old, '^(%d+)|(.*)$') end
  if op == 'remove' then
    if not old or tonumber(old_order) > tonumber(order) then return end
    unlist(ko, kid, owner, id, old_json)
    redis.call('HDEL', I .. 'o:' .. ko, id)
    return
  end
  local e = cjson.decode(text)
  local volume = string.format('%.0f', e.volume)
  local finish = e.start + e.size
  -- Counted once, however often it is applied: places are unique, and those of a volume grow.
  local known_end = tonumber(redis.call('HGET', I .. 'v:' .. ko, volume) or '0')
  if finish > known_end then
    redis.call('HSET', I .. 'v:' .. ko, volume, string.format('%.0f', finish))
    redis.call('HINCRBY', I .. 'u:' .. ko, 'bytes', string.format('%.0f', e.size))
    redis.call('HINCRBY', I .. 'u:' .. ko, 'count', 1)
  end
  redis.call('ZADD', I .. 'a', 'NX', order, owner)
  if old and tonumber(old_order) >= tonumber(order) then return end
  -- An id keeps its row in a conversation and its bucket's age when it is written again.
  if old and cjson.decode(old_json).bucket ~= e.bucket then unlist(ko, kid, owner, id, old_json) end
  redis.call('HSET', I .. 'o:' .. ko, id, order .. '|' .. text)
  redis.call('ZADD', I .. 'ids:' .. ko, order, id)
  redis.call('ZADD', I .. 'b:' .. ko, 'NX', order, e.bucket)
  redis.call('ZADD', I .. 'bi:' .. ko .. ':' .. e.kb, order, id)
  redis.call('ZADD', I .. 'n:' .. kid, order, owner)
  if e.kc then
    redis.call('ZADD', I .. 'c:' .. ko, 'NX', order, e.conversation)
    redis.call('ZADD', I .. 'm:' .. ko .. ':' .. e.kc, 'NX', e.number or (1e15 + order / 1e3), id)
  end
  redis.call('ZADD', I .. 'recent', order, ko .. ':' .. kid)
end

-- ARGV from here on: groups of op, order, owner, encoded owner, id, encoded id, entry as JSON.
local function apply_all(from)
  local last = 0
  for at = from, #ARGV, 7 do
    apply(ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], ARGV[at + 4], ARGV[at + 5], ARGV[at + 6])
    last = math.max(last, tonumber(ARGV[at + 1]))
  end
  redis.call('ZREMRANGEBYRANK', I .. 'recent', 0, -1001)
  return last
end
`;

/** Arguments of one entry in {@link APPLY} and {@link REBUILD}. */
export const ENTRY_ARGUMENTS = 7;

/**
 * Takes entries into the index.
 *
 * | ARGV | |
 * |---|---|
 * | 1 | generation the caller knows |
 * | 2 | greatest order the caller knows to be applied |
 * | 3… | entries |
 *
 * Returns 1, or 0 when the index is not the one the caller knows: nothing was applied.
 */
export const APPLY = script(
  'hub apply',
  String.raw`${PRELUDE}
if not is_known(ARGV[1], ARGV[2]) then return 0 end
local last = apply_all(3)
if last > tonumber(redis.call('HGET', I .. 'meta', 'last')) then
  redis.call('HSET', I .. 'meta', 'last', string.format('%.0f', last))
end
return 1
`,
);

/**
 * Takes entries into an index that is being made anew, and which nobody reads yet.
 *
 * | ARGV | |
 * |---|---|
 * | 1 | the process that makes it |
 * | 2… | entries |
 *
 * Returns 1, or 0 when another process makes it now.
 */
export const REBUILD = script(
  'hub rebuild',
  String.raw`${PRELUDE}
if redis.call('GET', 'hub:rebuild') ~= ARGV[1] then return 0 end
redis.call('PEXPIRE', 'hub:rebuild', 10000)
apply_all(2)
return 1
`,
);

/**
 * Opens an index that was made anew to its readers.
 *
 * | ARGV | |
 * |---|---|
 * | 1 | the process that made it |
 * | 2 | store id |
 * | 3 | generation |
 * | 4 | greatest order applied |
 *
 * Returns 1, or 0 when another process makes it now.
 */
export const PUBLISH = script(
  'hub publish',
  String.raw`${PRELUDE}
if redis.call('GET', 'hub:rebuild') ~= ARGV[1] then return 0 end
redis.call('HSET', I .. 'meta', 'store', ARGV[2], 'generation', ARGV[3], 'last', ARGV[4])
redis.call('DEL', 'hub:rebuild')
return 1
`,
);

/**
 * The newest entry of a name, and whether the index can be believed.
 *
 * | ARGV | |
 * |---|---|
 * | 1 | encoded owner; empty for any |
 * | 2 | id |
 * | 3 | encoded id |
 *
 * Returns {generation or nil, last, store, entry or nil}.
 */
export const LOOK_UP = script(
  'hub look-up',
  String.raw`
local I = 'hub:i:'
local m = redis.call('HMGET', I .. 'meta', 'generation', 'last', 'store')
local ko = ARGV[1]
local entry
if ko == '' then
  local owner = redis.call('ZRANGE', I .. 'n:' .. ARGV[3], -1, -1)[1]
  if owner then ko = string.gsub(owner, '[^%w%-_.!~*\'()]', function(c) return string.format('%%%02X', string.byte(c)) end) end
end
if ko ~= '' then entry = redis.call('HGET', I .. 'o:' .. ko, ARGV[2]) end
return { m[1], m[2], m[3], entry }
`,
);
