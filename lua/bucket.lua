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
    local level, when, burst, tail = match(c.raw, '^(%-?%d+):(%d+):(%d+)(:?[%d:]*)$')
    level, when, burst = tonumber(level), tonumber(when), tonumber(burst)
    c.cap, c.level = cap, cap
    read_lent(c, tail or '')
    if not level then return end
    if burst ~= c.burst then
      level = min(cap, max(level + (c.burst - burst) * unit, min(level, 0)))
    end
    if now < when then
      c.level, c.repair = level, true
    elseif now - when >= ceil((cap - level) / c.limit) then
      c.level = cap
    else
      c.level = level + (now - when) * c.limit
    end
    c.level = min(c.level, max(min(level, cap), cap - (c.old + c.new) * unit))
  end,

  read = function(c, cost)
    local unit = c.window
    local after = c.level - cost * unit
    c.within = after >= -c.queue * unit
    c.remaining = max(0, floor(c.level / unit))
    c.retry = cost > c.burst + c.queue and NEVER or ceil((-after - c.queue * unit) / c.limit)
    c.reset = ceil((c.cap - c.level) / c.limit)
    c.wait = c.within and ceil(max(0, -after) / c.limit) or 0
  end,

  charge = function(c)
    c.level = c.level - c.cost * c.window
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
