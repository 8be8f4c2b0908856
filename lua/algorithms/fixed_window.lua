-- SPDX-License-Identifier: Apache-2.0
-- fixed_window: one count per window. State "ends:used": the window's end (ms) and the permits used in it; of a
-- counter that was reset in this window "ends:used:reset", when that was (forget.lua writes it).
-- terms: the offset in ms, or the four bounds "t0:t1:t2:t3" of three calendar windows.

-- Start and end of the window that holds `now`, and the latest end that a stored window may have.
local function bounds(c)
  local offset = tonumber(c.terms)
  if offset then
    local start = now - (now + offset) % c.window
    return start, start + c.window, start + 2 * c.window
  end
  local a, b, d, e = match(c.terms, '^(%d+):(%d+):(%d+):(%d+)$')
  a, b, d, e = tonumber(a), tonumber(b), tonumber(d), tonumber(e)
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

  roll = function(c)
    local start, ends, newest = bounds(c)
    c.length, c.ends, c.used = ends - start, ends, 0
    if c.raw == '' then return end
    local stored, used, reset = match(c.raw, '^(%d+):(%d+)$')
    if not stored then stored, used, reset = match(c.raw, '^(%d+):(%d+):(%d+)$') end
    stored, used = tonumber(stored), tonumber(used)
    c.reset = reset and tonumber(reset)
    if not stored or stored < ends then return end
    if stored <= newest then
      c.ends, c.used = stored, used
    else
      c.used, c.changed = used, true
    end
  end,

  within = function(c, cost)
    return c.used + cost <= c.limit
  end,

  left = function(c)
    return max(0, c.limit - c.used), c.used > 0 and ends_in(c) or 0
  end,

  retry = function(c, cost)
    return cost > c.limit and NEVER or ends_in(c)
  end,

  charge = function(c, cost)
    c.used = c.used + cost
  end,

  adjust = function(c, charged_at, delta)
    if delta < 0 and charged_at < c.ends - c.length then return end
    c.used = max(0, c.used + delta)
  end,

  -- In a server that has lost nothing this is never more than it knows, but for what was given back meanwhile.
  seen = function(c, used, ends, at)
    if ends ~= c.ends or used <= c.used or at <= (c.reset or 0) then return end
    c.used, c.changed = used, true
  end,

  write = function(c)
    local text = format('%d:%d', c.ends, c.used)
    if c.reset and c.reset >= c.ends - c.length then text = format('%s:%d', text, c.reset) end
    keep(c.key, text, c.ends - now)
  end,
}
