-- SPDX-License-Identifier: Apache-2.0
-- concurrency: permits in flight. State: a sorted set, one member "owner:n" per permit, score = the ms in which
-- it expires unless renewed. All permits of an owner expire together. The owner comes with the cost.

--- @include "permits"

local function slot(c, n)
  return format('%d:%d', c.owner, n)
end

-- How many live permits the owner holds. They are numbered from 1 without a gap.
local function held(c)
  local n = 0
  while true do
    local expires = call('ZSCORE', c.key, slot(c, n + 1))
    if not expires or tonumber(expires) <= now then return n end
    n = n + 1
  end
end

local function hold(c, count)
  add(c.key, count, now + c.policy.window, function(n) return slot(c, n) end)
  call('PEXPIRE', c.key, c.policy.window + grace)
end

local function release(c)
  local n = 1
  while call('ZREM', c.key, slot(c, n)) == 1 do n = n + 1 end
end

return {
  roll = function(c)
    return look(c, now, now + c.policy.window)
  end,

  within = function(c, cost)
    return c.have + cost <= c.policy.limit
  end,

  left = function(c)
    return max(0, c.policy.limit - c.have), c.have > 0 and c.last - now or 0
  end,

  retry = function(c, cost)
    return cost > c.policy.limit and NEVER or 1000
  end,

  charge = function(c, cost)
    c.adding = cost
    if cost > 0 then c.have, c.last = c.have + cost, now + c.policy.window end
  end,

  write = function(c)
    local adding = c.adding or 0
    if c.late then pull_back(c.key, now + c.policy.window) end
    trim(c.key, c.dead, adding)
    if adding > 0 then hold(c, held(c) + adding) end
    call('PEXPIRE', c.key, c.policy.window + grace)
  end,

  release = release,

  renew = function(c, cost)
    local count = held(c)
    if count == 0 then
      release(c)
      count = cost
    end
    hold(c, count)
  end,
}
