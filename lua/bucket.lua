-- SPDX-License-Identifier: Apache-2.0
-- What token_bucket and leaky_bucket share. State "level:when:burst" in units: one permit is `window` units,
-- `limit` units come back each ms; the burst is that of the last write, so that a reload can move the level.
-- The file that includes this one defines read_terms(c), which sets c.burst, and c.queue: how many permits may
-- be taken in advance.

--- @include "lent"

return {
  text = true,

  roll = function(c)
    read_terms(c)
    local unit = c.window
    local cap = c.burst * unit
    c.cap, c.level = cap, cap
    c.old, c.new, c.till, c.span = 0, 0, 0, 0
    if c.raw == '' then return end
    local level, when, burst, tail = match(c.raw, '^(%-?%d+):(%d+):(%d+)(:?[%d:]*)$')
    level, when, burst = tonumber(level), tonumber(when), tonumber(burst)
    if not level then return end
    if tail ~= '' then read_lent(c, tail) end
    if burst ~= c.burst then
      level = min(cap, max(level + (c.burst - burst) * unit, min(level, 0)))
    end
    if now < when then
      c.level, c.changed = level, true
    elseif now - when >= ceil((cap - level) / c.limit) then
      c.level = cap
    else
      c.level = level + (now - when) * c.limit
    end
    c.level = min(c.level, max(min(level, cap), cap - (c.old + c.new) * unit))
  end,

  within = function(c, cost)
    local after = c.level - cost * c.window
    return after >= -c.queue * c.window, after < 0 and ceil(-after / c.limit) or 0
  end,

  left = function(c)
    return max(0, floor(c.level / c.window)), ceil((c.cap - c.level) / c.limit)
  end,

  retry = function(c, cost)
    if cost > c.burst + c.queue then return NEVER end
    return ceil(((cost - c.queue) * c.window - c.level) / c.limit)
  end,

  charge = function(c, cost)
    c.level = c.level - cost * c.window
  end,

  adjust = function(c, charged_at, delta)
    local lowest = -(c.cap + c.queue * c.window)
    local highest = max(c.level, c.cap - (c.old + c.new) * c.window)
    c.level = min(highest, max(lowest, c.level - delta * c.window))
  end,

  lent = lent,

  write = function(c)
    local text = format('%d:%d:%d', c.level, now, c.burst) .. lent_text(c)
    keep(c.key, text, max(ceil((c.cap - c.level) / c.limit), lent_life(c)))
  end,
}
