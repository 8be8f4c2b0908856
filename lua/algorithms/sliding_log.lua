-- SPDX-License-Identifier: Apache-2.0
-- sliding_log: one entry per permit, exact; for small limits. State: a sorted set, member = a number that only
-- grows (16 digits, so that entries of one ms stay in order), score = the ms. Refused hits leave no entry.
-- terms: none.

--- @include "permits"

return {
  roll = function(c)
    return look(c, now - c.policy.window, now)
  end,

  within = function(c, cost)
    return c.have + cost <= c.policy.limit
  end,

  left = function(c)
    return max(0, c.policy.limit - c.have), c.have > 0 and c.last + c.policy.window - now or 0
  end,

  retry = function(c, cost)
    if cost > c.policy.limit then return NEVER end
    local place = c.total + cost - c.policy.limit - 1
    local entry = call('ZRANGE', c.key, place, place, 'WITHSCORES')
    return min(tonumber(entry[2]), now) + c.policy.window - now
  end,

  charge = function(c, cost)
    c.adding = cost
    c.have, c.last = c.have + cost, now
  end,

  adjust = function(c, charged_at, delta)
    if delta > 0 then
      c.adding = delta
    else
      c.removing, c.removing_at = -delta, charged_at
    end
  end,

  write = function(c)
    if c.late then pull_back(c.key, now) end
    trim(c.key, c.dead, c.adding or 0)
    if c.adding then
      local base = tonumber(c.newest)
      add(c.key, c.adding, now, function(n) return format('%016d', base + n) end)
    elseif c.removing and c.removing > 0 then
      local at = format('%d', c.removing_at)
      local found = call('ZRANGEBYSCORE', c.key, at, at, 'LIMIT', 0, min(c.removing, BATCH))
      if found[1] then call('ZREM', c.key, unpack(found)) end
    end
    call('PEXPIRE', c.key, c.policy.window + grace)
  end,
}
