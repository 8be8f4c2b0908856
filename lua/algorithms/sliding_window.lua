-- SPDX-License-Identifier: Apache-2.0
-- sliding_window: the last N+1 cells of a window cut in N; never more than the limit in any window.
-- State: top, have, newest | N older cells, oldest first: the number of the newest cell, the sum of all, and the count
-- of each. So a hit that passes touches no cell but the newest; only a refusal walks the older ones. terms: N.

local rep, sub = string.rep, string.sub

local HEAD, CELL = 25, 8  -- bytes
local EMPTY = rep('\0', CELL)

local function older(c, k)
  return (read('>d', c.older, k * CELL + 1))
end

-- Cell k: 0 is the oldest, N the newest.
local function cell(c, k)
  if k == c.policy.cells then return c.newest end
  return older(c, k)
end

-- Lets the oldest `gone` cells fall out and as many empty ones come in.
local function shift(c, gone)
  local cells = c.policy.cells
  c.whole = true
  if gone > cells then
    c.older, c.newest, c.have = rep(EMPTY, cells), 0, 0
    return
  end
  for k = 0, gone - 1 do c.have = c.have - older(c, k) end
  c.older, c.newest = sub(c.older, gone * CELL + 1) .. pack('>d', c.newest) .. rep(EMPTY, gone - 1), 0
end

-- How long until cell k no longer counts.
local function leaves_in(c, k)
  return (c.top + k + 1) * c.policy.step - now
end

local function newest(c)
  for k = c.policy.cells, 0, -1 do
    if cell(c, k) ~= 0 then return k end
  end
end

return {
  text = true,

  terms = function(p, cells)
    p.cells, p.step = cells, ceil(p.window / cells)
  end,

  roll = function(c, raw)
    local cells, at = c.policy.cells, floor(now / c.policy.step)
    local layout, top, have, count = nil, at, 0, 0
    if #raw >= HEAD then layout, top, have, count = read('>Bddd', raw) end
    if layout == LAYOUT and #raw == HEAD + cells * CELL then
      c.top, c.have, c.newest, c.older, c.whole = top, have, count, sub(raw, HEAD + 1), false
      if at > top then
        shift(c, at - top)
        c.top = at
      elseif at < top - 1 then
        c.top, c.changed, c.whole = at, true, true
      end
    else
      -- Written with another N, what it counted is as recent as it can be.
      local kept = layout == LAYOUT and (#raw - HEAD) % CELL == 0 and have or 0
      c.top, c.have, c.newest, c.older = at, kept, kept, rep(EMPTY, cells)
    end
  end,

  within = function(c, cost)
    return c.have + cost <= c.policy.limit
  end,

  left = function(c)
    local left, reset = c.policy.limit - c.have, 0
    if c.newest > 0 then
      reset = leaves_in(c, c.policy.cells)
    elseif c.have > 0 then
      reset = leaves_in(c, newest(c))
    end
    return left > 0 and left or 0, reset
  end,

  retry = function(c, cost)
    local p = c.policy
    if cost > p.limit then return NEVER end
    local left = c.have
    for k = 0, p.cells do
      left = left - cell(c, k)
      if left + cost <= p.limit then return leaves_in(c, k) end
    end
    return NEVER
  end,

  charge = function(c, cost)
    c.newest = c.newest + cost
    c.have = c.have + cost
  end,

  adjust = function(c, charged_at, delta)
    local cells = c.policy.cells
    local k = cells
    if delta < 0 then k = floor(charged_at / c.policy.step) - c.top + cells end
    if k < 0 or k > cells then return end
    local before = cell(c, k)
    local after = max(0, before + delta)
    c.have = c.have + after - before
    if k == cells then
      c.newest = after
    else
      c.older, c.whole = sub(c.older, 1, k * CELL) .. pack('>d', after) .. sub(c.older, (k + 1) * CELL + 1), true
    end
  end,

  write = function(c)
    local head = pack('>Bddd', LAYOUT, c.top, c.have, c.newest)
    if not c.whole then return overwrite(c, head) end
    keep(c, head .. c.older, leaves_in(c, c.policy.cells))
  end,
}
