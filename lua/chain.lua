#!lua
-- SPDX-License-Identifier: Apache-2.0
-- The chains of some requests in one step, one after the other: judge every layer of a request, then charge all of
-- them or none. The contract (KEYS, ARGV, reply, state) is in README.md beside this file.

--- @include "prelude_time"

local call, pcall, unpack, args = redis.call, redis.pcall, unpack, ARGV
local floor, ceil, max, min = math.floor, math.ceil, math.max, math.min
local format, match, find = string.format, string.match, string.find

local NEVER = -1

-- The state of a counter that is one string. It never lives without an end.
local function keep(key, text, life)
  call('SET', key, text, 'PX', format('%d', max(life, 0) + grace))
end

-- Only the rules that a call needs are made. Each file returns
--   text             true: the state is one string, in c.raw ('' = fresh); it is rolled once and written once a call.
--                    Else each request rolls it anew and writes it at once
--   roll(c)          brings the state up to `now`; c.changed = true: write it even if nothing is charged.
--                    Returns the error if the key is of another type
--   within(c, cost)  whether so much passes, and for how many ms it must then be held (leaky_bucket)
--   left(c)          permits that remain; ms until the counter is as if untouched
--   retry(c, cost)   ms until the cost passes that does not pass now
--   charge(c, cost)  takes permits        adjust(c, charged_at, delta)  settles
--   write(c)         stores what roll, charge and adjust made of the state
--   seen(c, used, ends, at)  fixed_window: an asker saw so much used, at `at`, of the window that ends at `ends`
--   lent(c, count, at)  buckets: `count` permits more (fewer, if negative) of a lease of the time `at` may be unused
local function make(algorithm)
  if algorithm == 'token_bucket' then
--- @include "algorithms/token_bucket"
  elseif algorithm == 'gcra' then
--- @include "algorithms/gcra"
  elseif algorithm == 'fixed_window' then
--- @include "algorithms/fixed_window"
  elseif algorithm == 'sliding_window' then
--- @include "algorithms/sliding_window"
  elseif algorithm == 'sliding_counter' then
--- @include "algorithms/sliding_counter"
  elseif algorithm == 'sliding_log' then
--- @include "algorithms/sliding_log"
  elseif algorithm == 'leaky_bucket' then
--- @include "algorithms/leaky_bucket"
  elseif algorithm == 'concurrency' then
--- @include "algorithms/concurrency"
  end
end

local op, detail, last = args[1], args[2], #args
local decides, relaxed = op == 'decide', detail == 'relaxed'
-- Tables that begin with room: growing one by one costs more than judging.
local counters, texts, text_counters = {nil, nil, nil, nil}, {nil, nil, nil, nil}, {nil, nil, nil, nil}
local made, known = {}, 0
local at = 2  -- the last argument that was read

for i = 1, #KEYS do
  local algorithm = args[at + 1]
  local rules = made[algorithm] or make(algorithm)
  if not rules then return redis.error_reply('ERR weir: no such algorithm') end
  made[algorithm] = rules
  -- Nine named fields make room for sixteen, which is as many as a text has.
  local c = {
    key = KEYS[i], rules = rules, limit = args[at + 2] + 0, window = args[at + 3] + 0, terms = args[at + 4],
    raw = '', changed = false, burst = 0, level = 0,
  }
  counters[i] = c
  if rules.text then
    known = known + 1
    texts[known], text_counters[known] = KEYS[i], c
  end
  at = at + 4
end

if known > 0 then
  local raw = call('MGET', unpack(texts, 1, known))
  for i = 1, known do
    local c = text_counters[i]
    c.raw = raw[i] or ''
    c.rules.roll(c)
  end
end

-- The next layer of a request: the place of its counter (negative: as shadow), the cost, and what else it says.
local function layer()
  local place, cost, more = args[at + 1] + 0, args[at + 2], ''
  at = at + 2
  if cost == '1' then return place, 1, more end
  if find(cost, ':', 1, true) then cost, more = match(cost, '^(-?%d+):(.*)$') end
  return place, tonumber(cost), more
end

-- What earlier leases used and what they leave unused is known before anything is judged.
local function report(c, more)
  local n = {}
  for number in string.gmatch(more, '%d+') do n[#n + 1] = tonumber(number) end
  c.life = n[4]
  if n[13] and c.rules.seen then c.rules.seen(c, n[13], n[14], n[15]) end
  for k = 5, 11, 2 do
    local count, moment = n[k], n[k + 1]
    if count > 0 then
      if c.rules.lent then c.rules.lent(c, -count, moment) end
      if k < 9 then c.rules.adjust(c, moment, -count) end
      c.changed = true
    end
  end
  return n
end

-- Takes what the lease asks for beyond the cost: how many, and when one more permit will be there.
local function lend(c, asked)
  local more, least, permille = unpack(asked, 1, 3)
  local remaining = c.rules.left(c)
  local extra = min(remaining, max(min(more, floor(remaining * permille / 1000)), least))
  if c.rules.lent and not c.rules.lent(c, extra, now) then extra = 0 end
  c.rules.charge(c, extra)
  return extra, c.rules.within(c, 1) and 0 or c.rules.retry(c, 1)
end

local reply, said = {now, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil}, 1
-- Of each layer of a request.
local of, costs, fits = {nil, nil, nil, nil}, {nil, nil, nil, nil}, {nil, nil, nil, nil}
local waits, shadows, leases = {nil, nil, nil, nil}, {nil, nil, nil, nil}, {nil, nil, nil, nil}

-- Judges the `layers` layers of the next request: whether it passes, and the error if a key is of another type.
local function judge(layers)
  local passed, fault = true, nil
  for i = 1, layers do
    local place, cost, more = layer()
    local c = counters[place < 0 and -place or place]
    local rules = c.rules
    leases[i] = false
    if not rules.text then
      c.owner = more
      fault = rules.roll(c) or fault
    elseif more ~= '' then
      leases[i] = report(c, more)
    end
    of[i], costs[i], shadows[i] = c, cost, place < 0
    if not fault then
      fits[i], waits[i] = rules.within(c, cost)
      passed = passed and (fits[i] or place < 0)
    end
  end
  return passed, fault
end

-- Charges the request that was judged, and answers it. detail 'relaxed': layers before the first that refuses stay
-- charged.
local function charge(layers, passed)
  local open = passed or relaxed
  for i = 1, layers do
    local c, cost, fit = of[i], costs[i], fits[i]
    local rules, take, granted, next = c.rules, fit and open, 0, 0
    if shadows[i] then
      take = fit and passed
    elseif not fit then
      open = false
    end
    take = take and decides
    if take then
      rules.charge(c, cost)
      c.changed = true
      if leases[i] then granted, next = lend(c, leases[i]) end
    end
    local remaining, reset = rules.left(c)
    reply[said + 1] = (fit and 1 or 0) + (take and 2 or 0)
    reply[said + 2], reply[said + 3] = remaining, reset
    reply[said + 4] = fit and waits[i] or not fit and rules.retry(c, cost) or 0
    said = said + 4
    if leases[i] then reply[said + 1], reply[said + 2], said = granted, next, said + 2 end
    if decides and c.changed and not rules.text then rules.write(c) end
  end
end

local trouble
while at < last do
  local layers = args[at + 1] + 0
  at = at + 1
  if decides or op == 'peek' then
    local passed, fault = judge(layers)
    if fault then
      reply[said + 1], said = fault, said + 1
    else
      charge(layers, passed)
    end
  else
    for _ = 1, layers do
      local place, cost, more = layer()
      local c = counters[place]
      local rules = c.rules
      c.owner = more
      if op ~= 'settle' then
        if rules[op] then rules[op](c, cost) end
      elseif rules.adjust then
        local fault = not rules.text and rules.roll(c)
        trouble = trouble or fault
        if not fault then
          rules.adjust(c, tonumber(detail), cost)
          c.changed = true
          if not rules.text then rules.write(c) end
        end
      end
    end
  end
end

if op ~= 'peek' then
  for i = 1, known do
    local c = text_counters[i]
    if c.changed then c.rules.write(c) end
  end
end
return trouble or reply
