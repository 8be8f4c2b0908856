-- SPDX-License-Identifier: Apache-2.0
-- The four layers of bench/peers in one script, written the way such scripts usually are: node a sliding window of
-- two buckets, caller and user token buckets in hashes, api a fixed window. All are judged, then all are charged.
-- KEYS: node, caller, user, api. ARGV: limit and window (ms) of each.
-- Reply: passed, first refusing layer, remaining (user), retry ms.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local limit, window = tonumber(ARGV[1]), tonumber(ARGV[2])
local slot = math.floor(now / window)
local current = tonumber(redis.call('GET', KEYS[1] .. slot) or '0')
local before = tonumber(redis.call('GET', KEYS[1] .. (slot - 1)) or '0')
if before * (1 - (now % window) / window) + current + 1 > limit then return {0, 1, 0, window - now % window} end
local tokens = {}
for i = 2, 3 do
  local capacity, per_ms = tonumber(ARGV[i * 2 - 1]), ARGV[i * 2 - 1] / ARGV[i * 2]
  local state = redis.call('HMGET', KEYS[i], 'tokens', 'at')
  local have, at = tonumber(state[1]) or capacity, tonumber(state[2]) or now
  have = math.min(capacity, have + math.max(0, now - at) * per_ms)
  if have < 1 then return {0, i, 0, math.ceil((1 - have) / per_ms)} end
  tokens[i] = have
end
local used = tonumber(redis.call('GET', KEYS[4]) or '0')
if used + 1 > tonumber(ARGV[7]) then return {0, 4, 0, redis.call('PTTL', KEYS[4])} end
redis.call('INCR', KEYS[1] .. slot)
redis.call('PEXPIRE', KEYS[1] .. slot, window * 2)
for i = 2, 3 do
  redis.call('HSET', KEYS[i], 'tokens', tokens[i] - 1, 'at', now)
  redis.call('PEXPIRE', KEYS[i], ARGV[i * 2])
end
if redis.call('INCR', KEYS[4]) == 1 then redis.call('PEXPIRE', KEYS[4], ARGV[8]) end
return {1, 0, math.floor(tokens[3] - 1), 0}
