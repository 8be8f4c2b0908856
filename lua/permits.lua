-- SPDX-License-Identifier: Apache-2.0
-- What sliding_log and concurrency share: a sorted set with one member per permit and a time as its score.

local BATCH = 500

-- Adds members made by name(1) .. name(count), all at one time.
local function add(key, count, at, name)
  local k = 1
  while k <= count do
    local arguments, size = {}, 0
    for n = k, min(count, k + BATCH - 1) do
      arguments[size + 1], arguments[size + 2], size = at, name(n), size + 2
    end
    call('ZADD', key, unpack(arguments))
    k = k + BATCH
  end
end

-- Members beyond `latest` (the clock went back) are moved there; their order stays.
local function pull_back(key, latest)
  local late = call('ZRANGEBYSCORE', key, format('(%d', latest), '+inf')
  add(key, #late, latest, function(n) return late[n] end)
end

-- Removes the `dead` oldest members, but a bounded number at once: more than a charge adds, so they run out.
local function trim(key, dead, cost)
  if dead > 0 then call('ZREMRANGEBYRANK', key, 0, min(dead, cost + BATCH) - 1) end
end

-- Total, how many of them are later than `after`, and the last time.
local function look(key, after)
  local last = call('ZRANGE', key, -1, -1, 'WITHSCORES')
  if not last[1] then return 0, 0, 0, nil end
  return call('ZCARD', key), call('ZCOUNT', key, format('(%d', after), '+inf'), tonumber(last[2]), last[1]
end
