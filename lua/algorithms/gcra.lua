-- SPDX-License-Identifier: Apache-2.0
-- gcra: a bucket in one number, the debt: one permit adds `window` units, `limit` units drain each ms.
-- State "tat:fraction:limit": the ms in which the debt is paid, the units beyond, and the drain they were
-- written with. terms: the burst.

return {
  text = true,

  roll = function(c)
    c.burst = tonumber(c.terms)
    c.cap, c.debt = c.burst * c.window, 0
    local tat, fraction, drain = match(c.raw, '^(%d+):(%d+):(%d+)$')
    if not tat then return end
    c.debt = max(0, (tat - now) * drain + fraction)
    if c.debt > c.cap then c.debt, c.repair = c.cap, true end
  end,

  read = function(c, cost)
    local over = c.debt + cost * c.window - c.cap
    c.within = over <= 0
    c.remaining = floor((c.cap - c.debt) / c.window)
    c.retry = cost > c.burst and NEVER or ceil(over / c.limit)
    c.reset = ceil(c.debt / c.limit)
  end,

  charge = function(c)
    c.debt = c.debt + c.cost * c.window
  end,

  adjust = function(c, charged_at, delta)
    c.debt = min(c.cap, max(0, c.debt + delta * c.window))
  end,

  write = function(c)
    local whole = floor(c.debt / c.limit)
    keep(c.key, format('%d:%d:%d', now + whole, c.debt - whole * c.limit, c.limit), ceil(c.debt / c.limit))
  end,
}
