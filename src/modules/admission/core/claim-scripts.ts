/**
 * The places of one pool that all gateways have taken together, in three keys: `K` the leases by when they expire,
 * `K:what` what each of them holds, `K:sums` how much that is, by endpoint and in all. Every script first lets go of
 * what has expired, so that the sums are right whoever asks. Time is the store's own.
 */
const COMMON = `
local key = KEYS[1]
local what, sums = key .. ':what', key .. ':sums'
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local function count(endpoint, places, tokens)
  if redis.call('HINCRBY', sums, 'places:' .. endpoint, places) <= 0 then
    redis.call('HDEL', sums, 'places:' .. endpoint, 'tokens:' .. endpoint)
  else
    redis.call('HINCRBY', sums, 'tokens:' .. endpoint, tokens)
  end
  redis.call('HINCRBY', sums, 'all', places)
end

local function drop(id)
  local held = redis.call('HGET', what, id)
  redis.call('ZREM', key, id)
  if not held then return end
  redis.call('HDEL', what, id)
  local places, tokens, endpoint = string.match(held, '^(%d+) (%d+) (.*)$')
  -- Not -tokens: less nothing is "-0", which is no number to the store.
  count(endpoint, 0 - places, 0 - tokens)
end

local function add(id, endpoint, places, tokens, lastsMs)
  if redis.call('ZADD', key, now + lastsMs, id) == 1 then
    redis.call('HSET', what, id, places .. ' ' .. tokens .. ' ' .. endpoint)
    count(endpoint, places, tokens)
  end
end

-- The keys outlive the last lease for a while: what nobody renews is forgotten with them.
local function keep(lastsMs)
  for _, each in ipairs({key, what, sums}) do redis.call('PEXPIRE', each, 2 * lastsMs) end
end

for _, id in ipairs(redis.call('ZRANGEBYSCORE', key, '-inf', now)) do drop(id) end
`;

/**
 * ARGV: how long a lease lasts in ms, id, endpoint, places, KV tokens, most places at the endpoint, most in all, most KV
 * tokens at the endpoint (-1: any), whether an idle endpoint takes it whatever the limits, the latest time at which the
 * answer is of use. Returns 1: taken; 0: there is no room; -1: it has come too late.
 */
export const CLAIM = `${COMMON}
local lastsMs, id, endpoint, places, tokens = tonumber(ARGV[1]), ARGV[2], ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])
if now > tonumber(ARGV[10]) then return -1 end
local held = redis.call('HMGET', sums, 'places:' .. endpoint, 'all', 'tokens:' .. endpoint)
local here, all, kept = tonumber(held[1]) or 0, tonumber(held[2]) or 0, tonumber(held[3]) or 0
local idle = ARGV[9] == '1' and here == 0
if not idle then
  if here + places > tonumber(ARGV[6]) then return 0 end
  if tonumber(ARGV[8]) >= 0 and kept + tokens > tonumber(ARGV[8]) then return 0 end
end
if all > 0 and all + places > tonumber(ARGV[7]) then return 0 end
add(id, endpoint, places, tokens, lastsMs)
keep(lastsMs)
return 1
`;

/** ARGV: the id of one lease. One that is not there is no fault. */
export const RELEASE = `${COMMON}
drop(ARGV[1])
return 1
`;

/**
 * ARGV: how long a lease lasts in ms; then id, endpoint, places and KV tokens of each lease that a gateway has. Those
 * that the store has lost, or let go of while their gateway stood still, are taken again: they run.
 */
export const RENEW = `${COMMON}
local lastsMs = tonumber(ARGV[1])
for at = 2, #ARGV, 4 do
  if redis.call('ZSCORE', key, ARGV[at]) then redis.call('ZADD', key, now + lastsMs, ARGV[at])
  else add(ARGV[at], ARGV[at + 1], tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3]), lastsMs) end
end
keep(lastsMs)
return 1
`;
