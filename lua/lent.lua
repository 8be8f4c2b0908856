-- SPDX-License-Identifier: Apache-2.0
-- What buckets remember of leases: how many permits are lent and may still be unused. They came out of the level
-- but may be used later, so what refills meanwhile stays below the burst by as many; then no stretch of time ever
-- sees more than the burst and what refilled in it. The end of the state, only while there are any: old, new, till,
-- span. `new` were lent in the `span` ms before `till`, `old` in those before. No lease lives longer than span, so
-- at `till` the old ones are over. c.span is nil while nothing is lent.

local LENT = 32  -- bytes

local function read_lent(c, raw)
  local old, new, till, span = read('>dddd', raw, #raw - LENT + 1)
  c.whole = true
  if now >= till + span then return end
  if now >= till then old, new, till = new, 0, till + span end
  if old + new == 0 then return end
  c.old, c.new, c.till, c.span = old, new, min(till, now + span), span
end

local function still_lent(c)
  return c.span and c.old + c.new or 0
end

-- The form of a rule's `lent`. Lends nothing for longer than the span that others use now.
local function lent(c, count, at)
  if count > 0 then
    if not c.span then c.old, c.new, c.till, c.span = 0, 0, now + c.life, c.life end
    if c.life > c.span then return false end
    c.new = c.new + count
  elseif not c.span then
    return true
  elseif at >= c.till - c.span then
    c.new = max(0, c.new + count)
  elseif at >= c.till - 2 * c.span then
    c.old = max(0, c.old + count)
  end
  if c.old + c.new == 0 then c.span = nil end
  return true
end

-- Stores the state of a bucket that is full in `life` ms: the head; the number `of_policy` and when the key ends, grace
-- apart; what is lent. An end is set later than it must be, so that the next hits find it late enough.
local function keep_bucket(c, head, of_policy, life)
  if c.span then
    life = max(life, c.till + c.span - now)
    local tail = pack('>dddddd', of_policy, now + life, c.old, c.new, c.till, c.span)
    return keep(c, head .. tail, life)
  end
  if not c.whole and now + life <= c.ends then return overwrite(c, head) end
  life = life + 1000 + floor(life / 8)
  keep(c, head .. pack('>dd', of_policy, now + life), life)
end
