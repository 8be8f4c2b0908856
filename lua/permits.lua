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

-- The form of a rule's `roll`. How many members there are, how many of them live (their time is after `after`), the
-- newest and its time. late: some are beyond `latest`, since the clock went back.
local function look(c, after, latest)
  c.total, c.have, c.last, c.newest = 0, 0, 0, 0
  c.changed, c.late, c.dead, c.adding, c.removing = false, false, 0, nil, nil
  local newest = pcall('ZRANGE', c.key, -1, -1, 'WITHSCORES')
  if newest.err then return newest end
  if not newest[1] then return end
  c.newest, c.last = newest[1], tonumber(newest[2])
  c.total, c.have = call('ZCARD', c.key), call('ZCOUNT', c.key, format('(%d', after), '+inf')
  c.dead = c.total - c.have
  c.late = c.have > 0 and c.last > latest
  c.changed, c.last = c.late, min(c.last, latest)
end
