-- SPDX-License-Identifier: Apache-2.0
-- gcra: a bucket in one number, the debt: one permit adds `window` units, `limit` units drain each ms.
-- State: tat, fraction, at | limit, ends: the ms in which the debt is paid, the units beyond, when that was written,
-- and the drain it was written with. A clock that stepped back behind `at` lets nothing drain. A debt above a lowered
-- burst stays. terms: the burst.

--- @include "lent"

local SIZE = 41

return {
  text = true,

  terms = function(p, burst)
    p.burst, p.cap = burst, burst * p.window
  end,

  roll = function(c, raw)
    c.debt = 0
    if #raw ~= SIZE and #raw ~= SIZE + LENT then return end
    local layout, tat, fraction, at, drain, ends = read('>Bddddd', raw)
    if layout ~= LAYOUT then return end
    local p, least = c.policy, 0
    c.ends, c.whole, c.changed = ends, drain ~= p.limit, at > now
    local written = (tat - at) * drain + fraction
    if #raw > SIZE then
      read_lent(c, raw)
      least = min(written, still_lent(c) * p.window)
    end
    c.debt = max(0, (tat - max(at, now)) * drain + fraction, least)
  end,

  within = function(c, cost)
    local p = c.policy
    return c.debt + cost * p.window <= p.cap
  end,

  left = function(c)
    local p, debt = c.policy, c.debt
    local free, limit = p.cap - debt, p.limit
    return free > 0 and (free - free % p.window) / p.window or 0, (debt + -debt % limit) / limit
  end,

  retry = function(c, cost)
    local p = c.policy
    return cost > p.burst and NEVER or ceil((c.debt + cost * p.window - p.cap) / p.limit)
  end,

  charge = function(c, cost)
    c.debt = c.debt + cost * c.policy.window
  end,

  adjust = function(c, charged_at, delta)
    local p = c.policy
    local least = min(c.debt, still_lent(c) * p.window)
    c.debt = min(max(p.cap, c.debt), max(least, c.debt + delta * p.window))
  end,

  lent = lent,

  write = function(c)
    local limit, debt = c.policy.limit, c.debt
    local fraction = debt % limit
    local head = pack('>Bddd', LAYOUT, now + (debt - fraction) / limit, fraction, now)
    keep_bucket(c, head, limit, ceil(debt / limit))
  end,
}
