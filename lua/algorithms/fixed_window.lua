-- SPDX-License-Identifier: Apache-2.0
-- fixed_window: one count per window. State: used | ends: the permits used in the window and its end (ms); of a counter
-- that was reset in this window also when that was (forget.lua writes it).
-- terms: none, or the four bounds of three calendar windows. The offset comes with the counter.

-- Start and end of the window that holds `now`, and the latest end that a stored window may have.
local function bounds(p, offset)
  local a, b, d, e = p.a, p.b, p.d, p.e
  if not a then
    local start = now - (now + offset) % p.window
    return start, start + p.window, start + 2 * p.window
  end
  if now < b then return a, b, e end
  if now < d then return b, d, e end
  return d, e, e
end

-- A gateway whose clock is windows behind sends calendar bounds that are all over: never below 1 ms.
local function ends_in(c)
  return max(1, c.ends - now)
end

return {
  text = true,

  terms = function(p, a, b, d, e)
    p.a, p.b, p.d, p.e = a, b, d, e
  end,

  roll = function(c, raw, offset)
    local start, ends, newest = bounds(c.policy, offset)
    c.starts, c.ends, c.used = start, ends, 0
    if #raw ~= 17 and #raw ~= 25 then return end
    local layout, used, stored = read('>Bdd', raw)
    if layout ~= LAYOUT then return end
    if #raw == 25 then c.reset = read('>d', raw, 18) end
    if stored < ends then return end
    c.used = used
    if stored <= newest then
      c.starts, c.ends, c.whole = stored - ends + start, stored, false
    else
      c.changed = true
    end
  end,

  within = function(c, cost)
    return c.used + cost <= c.policy.limit
  end,

  left = function(c)
    return max(0, c.policy.limit - c.used), c.used > 0 and ends_in(c) or 0
  end,

  retry = function(c, cost)
    return cost > c.policy.limit and NEVER or ends_in(c)
  end,

  charge = function(c, cost)
    c.used = c.used + cost
  end,

  adjust = function(c, charged_at, delta)
    if delta < 0 and charged_at < c.starts then return end
    c.used = max(0, c.used + delta)
  end,

  -- In a server that has lost nothing this is never more than it knows, but for what was given back meanwhile.
  seen = function(c, used, ends, at)
    if ends ~= c.ends or used <= c.used or at <= (c.reset or 0) then return end
    c.used, c.changed = used, true
  end,

  write = function(c)
    local head = pack('>Bd', LAYOUT, c.used)
    if not c.whole then return overwrite(c, head) end
    local tail = pack('>d', c.ends)
    if c.reset and c.reset >= c.starts then tail = tail .. pack('>d', c.reset) end
    keep(c, head .. tail, c.ends - now)
  end,
}
