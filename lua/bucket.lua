-- SPDX-License-Identifier: Apache-2.0
-- What token_bucket and leaky_bucket share. State: level, when | burst, ends; the level in units: one permit is
-- `window` units, `limit` units come back each ms; the burst is that of the last write, so that a reload can move
-- the level. The file that includes this one defines queue_of(p, max_wait): how many permits may be taken in advance.

--- @include "lent"

local SIZE = 33

return {
  text = true,

  terms = function(p, burst, max_wait)
    p.burst, p.cap = burst, burst * p.window
    p.queue = queue_of(p, max_wait)
    p.lowest = -p.queue * p.window
  end,

  roll = function(c, raw)
    local p = c.policy
    local cap = p.cap
    c.level = cap
    if #raw ~= SIZE and #raw ~= SIZE + LENT then return end
    local layout, level, when, burst, ends = read('>Bdddd', raw)
    if layout ~= LAYOUT then return end
    c.ends, c.whole = ends, burst ~= p.burst
    if c.whole then
      level = min(cap, max(level + (p.burst - burst) * p.window, min(level, 0)))
    end
    local highest = cap
    if #raw > SIZE then
      read_lent(c, raw)
      highest = max(min(level, cap), cap - still_lent(c) * p.window)
    end
    if now < when then
      c.level, c.changed = level, true
    elseif now - when >= ceil((cap - level) / p.limit) then
      c.level = cap
    else
      c.level = level + (now - when) * p.limit
    end
    if c.level > highest then c.level = highest end
  end,

  within = function(c, cost)
    local p = c.policy
    local after = c.level - cost * p.window
    if after >= 0 then return true end
    return after >= p.lowest, ceil(-after / p.limit)
  end,

  left = function(c)
    local p, level = c.policy, c.level
    local gone, limit = p.cap - level, p.limit
    return level > 0 and (level - level % p.window) / p.window or 0, (gone + -gone % limit) / limit
  end,

  retry = function(c, cost)
    local p = c.policy
    if cost > p.burst + p.queue then return NEVER end
    return ceil(((cost - p.queue) * p.window - c.level) / p.limit)
  end,

  charge = function(c, cost)
    c.level = c.level - cost * c.policy.window
  end,

  adjust = function(c, charged_at, delta)
    local p = c.policy
    local lowest = -(p.cap + p.queue * p.window)
    local highest = max(c.level, p.cap - still_lent(c) * p.window)
    c.level = min(highest, max(lowest, c.level - delta * p.window))
  end,

  lent = lent,

  write = function(c)
    local p = c.policy
    keep_bucket(c, pack('>Bdd', LAYOUT, c.level, now), p.burst, ceil((p.cap - c.level) / p.limit))
  end,
}
