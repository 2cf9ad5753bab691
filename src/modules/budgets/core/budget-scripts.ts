/**
 * The same sums over slices as in `TenantWindow`, kept by the store, in one step each. A tenant's hash holds the number
 * of its newest slice (`at`), the sums (`requests`, `tokens`), those of each slice in a ring (`r0`, `t0`, …), and a mark
 * of the data it belongs to (`mark`): a store that was emptied must not give back what it never took.
 */
const COMMON = `
local key, sliceMs, slices = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2])
local ring = slices + 1
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local at, requests, tokens, mark

local function open()
  local found = redis.call('HMGET', key, 'at', 'requests', 'tokens', 'mark')
  local current = math.floor(now / sliceMs)
  at, requests, tokens, mark = tonumber(found[1]), tonumber(found[2]) or 0, tonumber(found[3]) or 0, found[4]
  if not at then
    at, mark = current, time[1] .. '.' .. time[2]
    return
  end
  local passed = math.min(current - at, ring)
  for slice = current - passed + 1, current do
    local place = slice % ring
    local old = redis.call('HMGET', key, 'r' .. place, 't' .. place)
    if old[1] then
      requests, tokens = requests - old[1], tokens - old[2]
      redis.call('HDEL', key, 'r' .. place, 't' .. place)
    end
  end
  at = math.max(at, current)
end

local function add(slice, moreRequests, moreTokens)
  local place = slice % ring
  redis.call('HINCRBY', key, 'r' .. place, moreRequests)
  redis.call('HINCRBY', key, 't' .. place, moreTokens)
  requests, tokens = requests + moreRequests, tokens + moreTokens
end

local function close()
  redis.call('HSET', key, 'at', at, 'requests', requests, 'tokens', tokens, 'mark', mark)
  redis.call('PEXPIRE', key, (ring + 1) * sliceMs)
end
`;

/**
 * ARGV: slice in ms, slices, limit of requests, limit of tokens, tokens of this request, the latest time at which the
 * answer is still of use. Returns {1, slice, mark, requests left, tokens left} where it fits; {0, wait for requests,
 * wait for tokens, requests left, tokens left} in ms where it does not; {-1} where it has come too late.
 */
export const RESERVE = `${COMMON}
if now > tonumber(ARGV[6]) then return {-1} end
local limits, cost = {tonumber(ARGV[3]), tonumber(ARGV[4])}, tonumber(ARGV[5])
open()
-- What takes no tokens is not held up by those that others have taken.
local needed = {requests + 1 - limits[1], cost > 0 and tokens + cost - limits[2] or 0}
if needed[1] <= 0 and needed[2] <= 0 then
  add(at, 1, cost)
  close()
  return {1, at, mark, limits[1] - requests, limits[2] - tokens}
end

local function wait(name, needed)
  if needed <= 0 then return 0 end
  for passed = 1, ring do
    needed = needed - (redis.call('HGET', key, name .. ((at - ring + passed) % ring)) or 0)
    if needed <= 0 then return (at + passed) * sliceMs - now end
  end
  return (at + ring) * sliceMs - now
end
local waits = {wait('r', needed[1]), wait('t', needed[2])}
if redis.call('EXISTS', key) == 1 then close() end
return {0, waits[1], waits[2], limits[1] - requests, limits[2] - tokens}
`;

/**
 * ARGV: slice in ms, slices, the slice and mark of the reservation, what its requests and tokens are to be changed by.
 * What belongs to a slice that is forgotten, or to data that are lost, is not given back.
 */
export const CORRECT = `${COMMON}
local slice, moreRequests, moreTokens = tonumber(ARGV[3]), tonumber(ARGV[5]), tonumber(ARGV[6])
if redis.call('HGET', key, 'mark') ~= ARGV[4] then return 0 end
open()
if slice > at - ring then add(slice, moreRequests, moreTokens)
else add(at, math.max(0, moreRequests), math.max(0, moreTokens)) end
close()
return 1
`;
