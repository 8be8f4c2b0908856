-- SPDX-License-Identifier: Apache-2.0
-- What buckets remember of leases: how many permits are lent and may still be unused. They came out of the level
-- but may be used later, so what refills meanwhile stays below the burst by as many; then no stretch of time ever
-- sees more than the burst and what refilled in it. The end of the state, only while there are any:
-- ":old:new:till:span". `new` were lent in the `span` ms before `till`, `old` in those before. No lease lives
-- longer than span, so at `till` the old ones are over.

local function read_lent(c, text)
  local old, new, till, span = match(text, '^:(%d+):(%d+):(%d+):(%d+)$')
  if not old then return end
  old, new, till, span = tonumber(old), tonumber(new), tonumber(till), tonumber(span)
  if now >= till + span then return end
  if now >= till then old, new, till = new, 0, till + span end
  if old + new == 0 then return end
  c.old, c.new, c.till, c.span = old, new, min(till, now + span), span
end

-- The form of a rule's `lent`. Lends nothing for longer than the span that others use now.
local function lent(c, count, at)
  if count > 0 then
    if c.span == 0 then c.span, c.till = c.life, now + c.life end
    if c.life > c.span then return false end
    c.new = c.new + count
  elseif at >= c.till - c.span then
    c.new = max(0, c.new + count)
  elseif at >= c.till - 2 * c.span then
    c.old = max(0, c.old + count)
  end
  if c.old + c.new == 0 then c.till, c.span = 0, 0 end
  return true
end

local function lent_text(c)
  if c.old + c.new == 0 then return '' end
  return format(':%d:%d:%d:%d', c.old, c.new, c.till, c.span)
end

-- How long the state must live for the sake of what is lent.
local function lent_life(c)
  if c.old + c.new == 0 then return 0 end
  return c.till + c.span - now
end
