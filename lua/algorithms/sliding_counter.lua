-- SPDX-License-Identifier: Apache-2.0
-- sliding_counter: two buckets, the older one weighted by what is left of it. State "ends:prev:cur".
-- terms: the offset in ms.

local function elapsed(c)
  return min(max(now - (c.ends - c.window), 0), c.window - 1)
end

-- A clock that is behind the window waits for it to begin.
local function ahead(c)
  return max(0, c.ends - c.window - now)
end

-- In units: one permit is `window` units.
local function free(c)
  return c.limit * c.window - c.prev * (c.window - elapsed(c)) - c.cur * c.window
end

local function wait_for(c, cost)
  local room = c.limit - cost - c.cur
  if room >= 0 and c.prev > 0 then
    local need = c.window - floor(room * c.window / c.prev)
    if need < c.window then return ahead(c) + need - elapsed(c) end
  end
  local later = 0
  if c.cur > 0 then later = max(0, c.window - floor((c.limit - cost) * c.window / c.cur)) end
  return ahead(c) + c.window - elapsed(c) + later
end

return {
  text = true,

  roll = function(c)
    local ends = now - (now + tonumber(c.terms)) % c.window + c.window
    c.ends, c.prev, c.cur = ends, 0, 0
    if c.raw == '' then return end
    local stored, prev, cur = match(c.raw, '^(%d+):(%d+):(%d+)$')
    stored, prev, cur = tonumber(stored), tonumber(prev), tonumber(cur)
    if not stored or stored < ends - c.window then return end
    if stored < ends then
      c.prev = cur
    elseif stored <= ends + c.window then
      c.ends, c.prev, c.cur = stored, prev, cur
    else
      c.prev, c.cur, c.changed = prev, cur, true
    end
  end,

  within = function(c, cost)
    return cost * c.window <= free(c)
  end,

  left = function(c)
    local reset = 0
    if c.cur > 0 then
      reset = ahead(c) + 2 * c.window - elapsed(c)
    elseif c.prev > 0 then
      reset = ahead(c) + c.window - elapsed(c)
    end
    return max(0, floor(free(c) / c.window)), reset
  end,

  retry = function(c, cost)
    return cost > c.limit and NEVER or wait_for(c, cost)
  end,

  charge = function(c, cost)
    c.cur = c.cur + cost
  end,

  adjust = function(c, charged_at, delta)
    if delta > 0 or charged_at >= c.ends - c.window then
      c.cur = max(0, c.cur + delta)
    elseif charged_at >= c.ends - 2 * c.window then
      c.prev = max(0, c.prev + delta)
    end
  end,

  write = function(c)
    keep(c.key, format('%d:%d:%d', c.ends, c.prev, c.cur), c.ends + c.window - now)
  end,
}
