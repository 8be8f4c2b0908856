-- SPDX-License-Identifier: Apache-2.0
-- sliding_window: the last N+1 cells of a window cut in N; never more than the limit in any window.
-- State "top:have:width:" and then N+1 counts of `width` digits each, oldest first, newest (cell `top`) last.
-- `have` is their sum, so that a hit that passes reads no cell but the newest; only a refusal walks them.
-- terms: N.

local sub, rep, gsub = string.sub, string.rep, string.gsub

local function cell(c, k)
  return tonumber(sub(c.cells, k * c.width + 1, (k + 1) * c.width))
end

local function put(c, k, count)
  local digits = format('%d', count)
  if #digits > c.width then
    local more = rep('0', #digits - c.width)
    c.cells = gsub(c.cells, rep('%d', c.width), more .. '%0')
    c.width = #digits
  end
  digits = rep('0', c.width - #digits) .. digits
  c.cells = sub(c.cells, 1, k * c.width) .. digits .. sub(c.cells, (k + 1) * c.width + 1)
end

-- Lets the oldest `gone` cells fall out and as many empty ones come in.
local function shift(c, gone)
  if gone > c.n then
    c.cells, c.have = rep('0', (c.n + 1) * c.width), 0
    return
  end
  for k = 0, gone - 1 do c.have = c.have - cell(c, k) end
  c.cells = sub(c.cells, gone * c.width + 1) .. rep('0', gone * c.width)
end

-- How long until cell k (0 oldest, N newest) no longer counts.
local function leaves_in(c, k)
  return (c.top + k + 1) * c.step - now
end

local function newest(c)
  local empty = rep('0', c.width)
  for k = c.n, 0, -1 do
    if sub(c.cells, k * c.width + 1, (k + 1) * c.width) ~= empty then return k end
  end
end

local function fresh(c, top)
  c.top, c.have, c.width = top, 0, #format('%d', c.limit)
  c.cells = rep('0', (c.n + 1) * c.width)
end

return {
  text = true,

  roll = function(c)
    c.n = tonumber(c.terms)
    c.step = ceil(c.window / c.n)
    local at = floor(now / c.step)
    if c.raw == '' then return fresh(c, at) end
    local top, have, width, cells = match(c.raw, '^(%d+):(%d+):(%d+):(%d+)$')
    if not top then return fresh(c, at) end
    c.top, c.have, c.width, c.cells = tonumber(top), tonumber(have), tonumber(width), cells
    if #cells ~= (c.n + 1) * c.width then
      -- Written with another N: what it counted is as recent as it can be.
      fresh(c, at)
      c.have = tonumber(have)
      put(c, c.n, c.have)
    elseif at > c.top then
      shift(c, at - c.top)
      c.top = at
    elseif at < c.top - 1 then
      c.top, c.changed = at, true
    end
  end,

  within = function(c, cost)
    return c.have + cost <= c.limit
  end,

  left = function(c)
    return max(0, c.limit - c.have), c.have > 0 and leaves_in(c, newest(c)) or 0
  end,

  retry = function(c, cost)
    if cost > c.limit then return NEVER end
    local left = c.have
    for k = 0, c.n do
      left = left - cell(c, k)
      if left + cost <= c.limit then return leaves_in(c, k) end
    end
    return NEVER
  end,

  charge = function(c, cost)
    put(c, c.n, cell(c, c.n) + cost)
    c.have = c.have + cost
  end,

  adjust = function(c, charged_at, delta)
    local k = c.n
    if delta < 0 then k = floor(charged_at / c.step) - c.top + c.n end
    if k < 0 or k > c.n then return end
    local before = cell(c, k)
    local after = max(0, before + delta)
    put(c, k, after)
    c.have = c.have + after - before
  end,

  write = function(c)
    keep(c.key, format('%d:%d:%d:', c.top, c.have, c.width) .. c.cells, leaves_in(c, c.n))
  end,
}
