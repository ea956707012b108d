import { script } from '../../platform/redis/redis-scripts.js';

/**
 * The scripts of the hub's index. `meta` names the data of the index and its newest order. Every script checks it, so
 * that a lost, foreign or set-back index is never read as "there is no such file".
 *
 * An entry is written `<order>|<JSON>`. Applying an entry twice, or entries of different writers in another order,
 * gives the same index: an older entry never replaces a newer one.
 */
const PRELUDE = String.raw`
local I = 'hub:i:'
local function is_known(generation, known)
  local m = redis.call('HMGET', I .. 'meta', 'generation', 'last')
  return m[1] == generation and tonumber(m[2]) >= tonumber(known)
end

-- A bucket is listed while it has files, or was created and not removed.
local function unlist_bucket(owner, kb)
  local name = ':' .. owner .. ':' .. kb
  if redis.call('EXISTS', I .. 'bi' .. name, I .. 'bm' .. name) == 0 then
    redis.call('ZREM', I .. 'b:' .. owner, kb)
  end
end

-- Takes an id out of everything it was listed in; the emptied lists go too.
local function unlist(owner, id, old)
  local json = cjson.decode(old)
  redis.call('ZREM', I .. 'bi:' .. owner .. ':' .. json.kb, id)
  unlist_bucket(owner, json.kb)
  if json.kc then
    redis.call('ZREM', I .. 'm:' .. owner .. ':' .. json.kc, id)
    if redis.call('EXISTS', I .. 'm:' .. owner .. ':' .. json.kc) == 0 then
      redis.call('ZREM', I .. 'c:' .. owner, json.kc)
    end
  end
  redis.call('ZREM', I .. 'ids:' .. owner, id)
  if redis.call('EXISTS', I .. 'ids:' .. owner) == 0 then redis.call('HINCRBY', I .. 'total', 'owners', -1) end
  redis.call('ZREM', I .. 'n:' .. id, owner)
  redis.call('ZREM', I .. 'recent', owner .. ':' .. id)
end

-- 0 for what was not written here.
local function order_of(row) return tonumber(string.match(row, '^(%d+)|') or '0') end

-- Without its file a removed price is kept for two hours: entries of other writers are at most an hour late.
local function forget_removed_price(owner, id)
  local row = redis.call('HGET', I .. 'p:' .. owner, id)
  if not row or string.sub(row, -1) ~= '|' then return end
  redis.call('HDEL', I .. 'p:' .. owner, id)
  redis.call('SET', I .. 'pg:' .. owner .. ':' .. id, string.format('%.0f', order_of(row)), 'EX', 7200)
end

-- A price that was taken away stays as an empty one, so that no older one comes back.
local function set_price(order, owner, id, terms)
  local old = redis.call('HGET', I .. 'p:' .. owner, id)
  local gone = redis.call('GET', I .. 'pg:' .. owner .. ':' .. id) or '0'
  if math.max(old and order_of(old) or 0, tonumber(gone)) >= tonumber(order) then return end
  redis.call('HSET', I .. 'p:' .. owner, id, order .. '|' .. terms)
  if redis.call('HEXISTS', I .. 'o:' .. owner, id) == 0 then forget_removed_price(owner, id) end
end

-- Only the terms that are named: a price that was set since stays.
local function withdraw_price(order, owner, id, text)
  local hash, row = string.match(text, '^(%x+)|(.*)$')
  local old = redis.call('HGET', I .. 'p:' .. owner, id)
  local terms = old and string.match(old, '^%d+|[^|]*|(.*)$')
  if terms and redis.sha1hex(terms) == hash then set_price(order, owner, id, row) end
end

local function drop_price(order, owner, id)
  local old = redis.call('HGET', I .. 'p:' .. owner, id)
  if old and order_of(old) < tonumber(order) then
    redis.call('HDEL', I .. 'p:' .. owner, id)
  end
end

-- What was put back stays as such, so that no older takedown comes back. All that was done is kept.
local function take_down(order, text)
  local e = cjson.decode(text)
  redis.call('ZADD', I .. 'ta', order, order .. '|' .. text)
  local old = redis.call('HGET', I .. 't', e.sha256)
  if old and order_of(old) >= tonumber(order) then return end
  redis.call('HSET', I .. 't', e.sha256, order .. '|' .. text)
  if e.state == 'down' then redis.call('ZADD', I .. 'td', order, e.sha256)
  else redis.call('ZREM', I .. 'td', e.sha256) end
end

-- Whether a removal for age meets a name whose price was set at the same time: a file that is for sale is never
-- removed for its age. A row without terms is a removed price.
local function is_spared(order, owner, id)
  local row = redis.call('HGET', I .. 'p:' .. owner, id)
  if not row then return false end
  return string.sub(row, -1) ~= '|' or order_of(row) > tonumber(order)
end

local function set_retention(order, owner, days)
  local old = redis.call('HGET', I .. 'k', owner)
  if old and order_of(old) >= tonumber(order) then return end
  redis.call('HSET', I .. 'k', owner, order .. '|' .. days)
end

-- Each payload counts once, however often this is applied, and in whatever order. After two hours no entry names it again.
local function note_freed(order, owner, text)
  local freed = I .. 'f:' .. owner
  redis.call('ZREMRANGEBYSCORE', freed, '-inf', string.format('%.0f', tonumber(order) - 7200e6))
  for _, payload in ipairs(cjson.decode(text)) do
    local place = string.format('%.0f:%.0f', payload.volume, payload.start)
    if redis.call('ZADD', freed, 'NX', order, place) == 1 then
      if payload.size > 0 then
        local size = '-' .. string.format('%.0f', payload.size)
        redis.call('HINCRBY', I .. 'u:' .. owner, 'bytes', size)
        redis.call('HINCRBY', I .. 'total', 'bytes', size)
      end
      redis.call('HINCRBY', I .. 'u:' .. owner, 'count', -1)
    end
  end
end

-- What a name stood for before, the newest of them.
local function keep_version(most, owner, id, row)
  if most == 0 then return end
  local key = I .. 'w:' .. owner .. ':' .. id
  redis.call('ZADD', key, order_of(row), row)
  redis.call('ZREMRANGEBYRANK', key, 0, -most - 1)
end

-- Counts by the day (UTC) of an entry: days since 1970 and what is counted.
local function count_day(order, what, by)
  redis.call('HINCRBY', I .. 'd', string.format('%.0f:', math.floor(tonumber(order) / 86400e6)) .. what, by)
end

-- Any sequence of the same entries gives the same index: a removal ends all creations of a lower order. Entries of
-- other writers are at most an hour late; after two the removal is forgotten.
local function mark_bucket(order, owner, text)
  local e = cjson.decode(text)
  local made = I .. 'bm:' .. owner .. ':' .. e.kb
  local removed = I .. 'bg:' .. owner .. ':' .. e.kb
  local gone = redis.call('GET', removed) or '0'
  local was = redis.call('EXISTS', made)
  if e.state == 'gone' then
    if tonumber(order) > tonumber(gone) then redis.call('SET', removed, order, 'EX', 7200) end
    redis.call('ZREMRANGEBYSCORE', made, '-inf', order)
    unlist_bucket(owner, e.kb)
  elseif tonumber(order) > tonumber(gone) then
    redis.call('ZADD', made, order, order .. '|' .. text)
    if redis.call('ZADD', I .. 'a', 'NX', order, owner) == 1 then count_day(order, 'owners', 1) end
    if redis.call('ZADD', I .. 'b:' .. owner, 'NX', order, e.kb) == 1 then count_day(order, 'buckets', 1) end
  end
  redis.call('HINCRBY', I .. 'total', 'buckets', redis.call('EXISTS', made) - was)
end

local function apply(most, op, order, owner, id, text)
  if op == 'takedown' then return take_down(order, text) end
  if op == 'price' then return set_price(order, owner, id, text) end
  if op == 'withdraw' then return withdraw_price(order, owner, id, text) end
  if op == 'retention' then return set_retention(order, owner, text) end
  if op == 'freed' then return note_freed(order, owner, text) end
  if op == 'bucket' then return mark_bucket(order, owner, text) end
  -- Up to which order a removal is meant: its own, but where files got too old.
  local up_to = (op == 'remove' and text ~= '') and text or order
  if op == 'remove' then
    if text == '' then drop_price(order, owner, id) end
  end
  local old = redis.call('HGET', I .. 'o:' .. owner, id)
  local old_order, old_json
  if old then old_order, old_json = string.match(old, '^(%d+)|(.*)$') end
  if op == 'remove' then
    local is_newest = old and tonumber(old_order) <= tonumber(up_to)
    if is_newest and text ~= '' and is_spared(order, owner, id) then return end
    redis.call('ZREMRANGEBYSCORE', I .. 'w:' .. owner .. ':' .. id, '-inf', up_to)
    if not is_newest then return end
    unlist(owner, id, old_json)
    redis.call('HDEL', I .. 'o:' .. owner, id)
    redis.call('HINCRBY', I .. 'total', 'objects', -1)
    forget_removed_price(owner, id)
    return
  end
  local e = cjson.decode(text)
  local volume = string.format('%.0f', e.volume)
  local finish = e.start + e.size
  -- Counted once, however often it is applied: places are unique, and those of a volume grow.
  local known_end = tonumber(redis.call('HGET', I .. 'v:' .. owner, volume) or '0')
  if finish > known_end then
    redis.call('HSET', I .. 'v:' .. owner, volume, string.format('%.0f', finish))
    redis.call('HINCRBY', I .. 'u:' .. owner, 'bytes', string.format('%.0f', e.size))
    redis.call('HINCRBY', I .. 'total', 'bytes', string.format('%.0f', e.size))
    redis.call('HINCRBY', I .. 'u:' .. owner, 'count', 1)
    count_day(order, 'objects', 1)
    count_day(order, 'bytes', string.format('%.0f', e.size))
    if known_end == 0 then count_day(order, 'volumes', 1) end
  end
  if redis.call('ZADD', I .. 'a', 'NX', order, owner) == 1 then count_day(order, 'owners', 1) end
  if old and tonumber(old_order) == tonumber(order) then return end
  if old and tonumber(old_order) > tonumber(order) then
    return keep_version(most, owner, id, order .. '|' .. text)
  end
  if old then keep_version(most, owner, id, old) end
  -- An id keeps its row in a conversation and its bucket's age when it is written again.
  if old and cjson.decode(old_json).kb ~= e.kb then unlist(owner, id, old_json) end
  if not old then redis.call('HINCRBY', I .. 'total', 'objects', 1) end
  redis.call('HSET', I .. 'o:' .. owner, id, order .. '|' .. text)
  if redis.call('EXISTS', I .. 'ids:' .. owner) == 0 then redis.call('HINCRBY', I .. 'total', 'owners', 1) end
  redis.call('ZADD', I .. 'ids:' .. owner, order, id)
  if redis.call('ZADD', I .. 'b:' .. owner, 'NX', order, e.kb) == 1 then count_day(order, 'buckets', 1) end
  redis.call('ZADD', I .. 'bi:' .. owner .. ':' .. e.kb, order, id)
  redis.call('ZADD', I .. 'n:' .. id, order, owner)
  if e.kc then
    redis.call('ZADD', I .. 'c:' .. owner, 'NX', order, e.kc)
    redis.call('ZADD', I .. 'm:' .. owner .. ':' .. e.kc, 'NX', e.number or (1e15 + order / 1e3), id)
  end
  redis.call('ZADD', I .. 'recent', order, owner .. ':' .. id)
end

-- ARGV from here on: groups of op, order, owner, id (both as in keys), entry as JSON.
local function apply_all(most, from)
  local last = 0
  for at = from, #ARGV, 5 do
    apply(most, ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], ARGV[at + 4])
    last = math.max(last, tonumber(ARGV[at + 1]))
  end
  redis.call('ZREMRANGEBYRANK', I .. 'recent', 0, -1001)
  return last
end
`;

/**
 * Takes entries into the index.
 *
 * | ARGV | |
 * |---|---|
 * | 1 | generation the caller knows |
 * | 2 | greatest order the caller knows to be applied |
 * | 3 | how many older payloads of a name are kept |
 * | 4… | entries |
 *
 * Returns 1, or 0 when the index is not the one the caller knows: nothing was applied.
 */
export const APPLY = script(
  'hub apply',
  String.raw`${PRELUDE}
if not is_known(ARGV[1], ARGV[2]) then return 0 end
local last = apply_all(tonumber(ARGV[3]), 4)
if last > tonumber(redis.call('HGET', I .. 'meta', 'last')) then
  redis.call('HSET', I .. 'meta', 'last', string.format('%.0f', last))
end
return 1
`,
);

/**
 * Adds entries to an index that is being rebuilt and has no readers yet.
 *
 * | ARGV | |
 * |---|---|
 * | 1 | the process that makes it |
 * | 2 | how many older payloads of a name are kept |
 * | 3… | entries |
 *
 * Returns 1, or 0 when another process rebuilds it now.
 */
export const REBUILD = script(
  'hub rebuild',
  String.raw`${PRELUDE}
if redis.call('GET', 'hub:rebuild') ~= ARGV[1] then return 0 end
redis.call('PEXPIRE', 'hub:rebuild', 10000)
apply_all(tonumber(ARGV[2]), 3)
return 1
`,
);

/**
 * Opens a rebuilt index to its readers.
 *
 * | ARGV | |
 * |---|---|
 * | 1 | the process that made it |
 * | 2 | store id |
 * | 3 | generation |
 * | 4 | greatest order applied |
 *
 * Returns 1, or 0 when another process rebuilds it now.
 */
export const PUBLISH = script(
  'hub publish',
  String.raw`${PRELUDE}
if redis.call('GET', 'hub:rebuild') ~= ARGV[1] then return 0 end
-- What was noted of share links before may be lost with the index: see links/link-book.ts.
local since = redis.call('TIME')[1]
redis.call('HSET', I .. 'meta', 'store', ARGV[2], 'generation', ARGV[3], 'last', ARGV[4], 'since', since)
redis.call('DEL', 'hub:rebuild')
return 1
`,
);

/**
 * Invalidates an index with unexpected content.
 *
 * | ARGV | |
 * |---|---|
 * | 1 | its generation |
 *
 * Returns 1, or 0 where there is another one by now.
 */
export const DISOWN = script(
  'hub disown',
  String.raw`
if redis.call('HGET', 'hub:i:meta', 'generation') ~= ARGV[1] then return 0 end
redis.call('DEL', 'hub:i:meta')
return 1
`,
);

/**
 * The newest entry of a name, its price, the takedowns of both, and whether the index can be trusted.
 *
 * | ARGV | |
 * |---|---|
 * | 1 | owner, as in keys; empty for any |
 * | 2 | id, as in keys |
 *
 * Returns {generation or false, last, store, entry or false, price or false, takedown of the bytes or false, of those that
 * are sold or false}.
 */
export const LOOK_UP = script(
  'hub look-up',
  String.raw`
local I = 'hub:i:'
local m = redis.call('HMGET', I .. 'meta', 'generation', 'last', 'store')
local owner = ARGV[1]
if owner == '' then owner = redis.call('ZRANGE', I .. 'n:' .. ARGV[2], -1, -1)[1] end
local entry, price, down, sold_down = false, false, false, false
-- The first such text is the field itself: within a string its quotes are escaped.
local function takedown(of)
  local sha = of and string.match(of, '"sha256":"(%x+)"')
  local text = sha and redis.call('HGET', I .. 't', sha)
  if text and redis.call('ZSCORE', I .. 'td', sha) then return text end
  return false
end
if owner then
  entry = redis.call('HGET', I .. 'o:' .. owner, ARGV[2])
  price = redis.call('HGET', I .. 'p:' .. owner, ARGV[2])
  if redis.call('EXISTS', I .. 'td') == 1 then down, sold_down = takedown(entry), takedown(price) end
end
return { m[1], m[2], m[3], entry, price, down, sold_down }
`,
);
