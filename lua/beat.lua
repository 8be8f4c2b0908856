#!lua
-- SPDX-License-Identifier: Apache-2.0
-- The heartbeat of one gateway: says that it lives and what it charged, learns how many live and what all did.
-- KEYS: the live instances (sorted set, score: last beat); the use of even and of odd epochs (hashes).
-- ARGV: instance, life of a beat in ms, epoch in ms, `beat` or `leave`, then pairs: counter, permits charged.
-- Reply: instances alive, number of the epoch, the store's clock in ms, then per pair the permits of the whole
-- fleet in this epoch and the one before. `leave`: who stays, 0, the clock.

--- @include "prelude_time"

local call, format = redis.call, string.format
local id, life, epoch = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])

-- A beat from the future is one from before the clock went back.
call('ZREMRANGEBYSCORE', KEYS[1], '-inf', format('(%d', now - life))
call('ZREMRANGEBYSCORE', KEYS[1], format('(%d', now), '+inf')
if ARGV[4] == 'leave' then
  call('ZREM', KEYS[1], id)
  return {call('ZCARD', KEYS[1]), 0, now}
end
call('ZADD', KEYS[1], format('%d', now), id)
call('PEXPIRE', KEYS[1], format('%d', life + grace))

local at = math.floor(now / epoch)
local current, before = KEYS[2 + at % 2], KEYS[3 - at % 2]
local function belongs(key, number)
  return call('HGET', key, 'epoch') == format('%d', number)
end
if not belongs(current, at) then
  call('DEL', current)
  call('HSET', current, 'epoch', format('%d', at))
end
local known = belongs(before, at - 1)
local reply = {call('ZCARD', KEYS[1]), at, now}
for i = 5, #ARGV, 2 do
  local used = call('HINCRBY', current, ARGV[i], ARGV[i + 1])
  if known then used = used + (tonumber(call('HGET', before, ARGV[i]) or '0')) end
  reply[#reply + 1] = used
end
call('PEXPIRE', current, format('%d', 2 * epoch + grace))
return reply
