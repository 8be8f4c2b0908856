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
    local stored, prev, cur = match(c.raw, '^(%d+):(%d+):(%d+)$')
    stored, prev, cur = tonumber(stored), tonumber(prev), tonumber(cur)
    c.ends, c.prev, c.cur = ends, 0, 0
    if not stored or stored < ends - c.window then return end
    if stored < ends then
      c.prev = cur
    elseif stored <= ends + c.window then
      c.ends, c.prev, c.cur = stored, prev, cur
    else
      c.prev, c.cur, c.repair = prev, cur, true
    end
  end,

  read = function(c, cost)
    local el = elapsed(c)
    local free = c.limit * c.window - c.prev * (c.window - el) - c.cur * c.window
    c.within = cost * c.window <= free
    c.remaining = max(0, floor(free / c.window))
    c.retry = 0
    if cost > c.limit then
      c.retry = NEVER
    elseif not c.within then
      c.retry = wait_for(c, cost)
    end
    c.reset = 0
    if c.cur > 0 then
      c.reset = ahead(c) + 2 * c.window - el
    elseif c.prev > 0 then
      c.reset = ahead(c) + c.window - el
    end
  end,

  charge = function(c)
    c.cur = c.cur + c.cost
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
