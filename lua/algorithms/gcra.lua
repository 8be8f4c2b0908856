-- SPDX-License-Identifier: Apache-2.0
-- gcra: a bucket in one number, the debt: one permit adds `window` units, `limit` units drain each ms.
-- State "tat:fraction:limit:at": the ms in which the debt is paid, the units beyond, the drain they were written
-- with, and when. A clock that stepped back behind that lets nothing drain. A debt above a lowered burst stays.
-- terms: the burst.

--- @include "lent"

return {
  text = true,

  roll = function(c)
    c.burst = tonumber(c.terms)
    c.cap, c.debt = c.burst * c.window, 0
    c.old, c.new, c.till, c.span = 0, 0, 0, 0
    if c.raw == '' then return end
    local tat, fraction, drain, at, tail = match(c.raw, '^(%d+):(%d+):(%d+):(%d+)(:?[%d:]*)$')
    if not tat then return end
    if tail ~= '' then read_lent(c, tail) end
    at = tonumber(at)
    c.changed = at > now
    local written = (tat - at) * drain + fraction
    c.debt = max(0, (tat - max(at, now)) * drain + fraction, min(written, (c.old + c.new) * c.window))
  end,

  within = function(c, cost)
    return c.debt + cost * c.window <= c.cap
  end,

  left = function(c)
    return max(0, floor((c.cap - c.debt) / c.window)), ceil(c.debt / c.limit)
  end,

  retry = function(c, cost)
    return cost > c.burst and NEVER or ceil((c.debt + cost * c.window - c.cap) / c.limit)
  end,

  charge = function(c, cost)
    c.debt = c.debt + cost * c.window
  end,

  adjust = function(c, charged_at, delta)
    local least = min(c.debt, (c.old + c.new) * c.window)
    c.debt = min(max(c.cap, c.debt), max(least, c.debt + delta * c.window))
  end,

  lent = lent,

  write = function(c)
    local whole = floor(c.debt / c.limit)
    local text = format('%d:%d:%d:%d', now + whole, c.debt - whole * c.limit, c.limit, now)
    keep(c.key, text .. lent_text(c), max(ceil(c.debt / c.limit), lent_life(c)))
  end,
}
