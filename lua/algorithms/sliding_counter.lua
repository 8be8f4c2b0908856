-- SPDX-License-Identifier: Apache-2.0
-- sliding_counter: two buckets, the older one weighted by what is left of it. State: cur | prev, ends.
-- terms: none. The offset comes with the counter.

-- In units: one permit is `window` units.
local function free(c)
  local p = c.policy
  return p.limit * p.window - c.prev * c.weight - c.cur * p.window
end

local function wait_for(c, cost)
  local limit, window = c.policy.limit, c.policy.window
  local room = limit - cost - c.cur
  if room >= 0 and c.prev > 0 then
    local need = window - floor(room * window / c.prev)
    if need < window then return c.remains - window + need end
  end
  local later = 0
  if c.cur > 0 then later = max(0, window - floor((limit - cost) * window / c.cur)) end
  return c.remains + later
end

return {
  text = true,

  roll = function(c, raw, offset)
    local window = c.policy.window
    local ends = now - (now + offset) % window + window
    c.prev, c.cur = 0, 0
    local layout, cur, prev, stored
    if #raw == 25 then layout, cur, prev, stored = read('>Bddd', raw) end
    if layout ~= LAYOUT or stored < ends - window then
      stored = ends
    elseif stored < ends then
      stored, c.prev = ends, cur
    elseif stored <= ends + window then
      c.prev, c.cur, c.whole = prev, cur, false
    else
      stored, c.prev, c.cur, c.changed = ends, prev, cur, true
    end
    -- A clock that is behind the window waits for it to begin.
    c.ends, c.remains = stored, stored - now
    c.weight = min(c.remains, window)
  end,

  within = function(c, cost)
    return cost * c.policy.window <= free(c)
  end,

  left = function(c)
    local unused, window, reset = free(c), c.policy.window, 0
    if c.cur > 0 then
      reset = c.remains + window
    elseif c.prev > 0 then
      reset = c.remains
    end
    return unused > 0 and (unused - unused % window) / window or 0, reset
  end,

  retry = function(c, cost)
    return cost > c.policy.limit and NEVER or wait_for(c, cost)
  end,

  charge = function(c, cost)
    c.cur = c.cur + cost
  end,

  adjust = function(c, charged_at, delta)
    local starts = c.ends - c.policy.window
    if delta > 0 or charged_at >= starts then
      c.cur = max(0, c.cur + delta)
    elseif charged_at >= starts - c.policy.window then
      c.prev, c.whole = max(0, c.prev + delta), true
    end
  end,

  write = function(c)
    local head = pack('>Bd', LAYOUT, c.cur)
    if not c.whole then return overwrite(c, head) end
    keep(c, head .. pack('>dd', c.prev, c.ends), c.remains + c.policy.window)
  end,
}
