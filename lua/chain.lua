#!lua
-- SPDX-License-Identifier: Apache-2.0
-- The chains of some requests in one step, one after the other: judge every layer of a request, then charge all of
-- them or none. The contract (KEYS, ARGV, reply, state) is in README.md beside this file, and what makes it quick.

--- @include "prelude_time"

local call, pcall, unpack, args = redis.call, redis.pcall, unpack, ARGV
local floor, ceil, max, min = math.floor, math.ceil, math.max, math.min
local format, pack, read = string.format, struct.pack, struct.unpack

-- A table with room for n values: growing one by one costs more than judging.
local function room(n)
  if n > 20 then return {unpack({}, 1, n)} end
  return {nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil}
end

local NEVER = -1
local LAYOUT = 2  -- the first byte of each state that is a string

-- A state that is a string begins with what every hit changes. `keep` writes all of it, with an end; `overwrite` only
-- the beginning, which leaves the key's end alone: for a counter whose stored end is late enough. No key expires
-- while a script runs, so what was read is still there.
local function keep(c, text, life)
  call('SET', c.key, text, 'PX', max(life, 0) + grace)
end

local function overwrite(c, head)
  call('SETRANGE', c.key, '0', head)
end

-- Only the rules that a call needs are made. Each file returns
--   text             true: the state is one string; it is rolled once and written once a call.
--                    Else each request rolls it anew and writes it at once
--   terms(p, ...)    what only this algorithm needs of a policy p, beside p.limit and p.window
--   roll(c, raw, offset)  brings the state up to `now`; raw: the string ('' = fresh); c.changed = true: write it even
--                    if nothing is charged; c.whole = false: `overwrite` will do.
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

local op, detail = args[1], args[2]
local decides, relaxed = op == 'decide', detail == 'relaxed'
local unpacked = cmsgpack.unpack
local policies, places, asked = {unpacked(args[3])}, {unpacked(args[4])}, {unpacked(args[5])}
local at = 0  -- the last of `asked` that was read
local made, usual = {}, decides

for i = 1, #policies do
  local sent = policies[i]
  local rules = made[sent[1]] or make(sent[1])
  if not rules then return redis.error_reply('ERR weir: no such algorithm') end
  made[sent[1]] = rules
  local policy = {rules = rules, limit = sent[2], window = sent[3]}
  usual = usual and rules.text
  if rules.terms then rules.terms(policy, sent[4], sent[5], sent[6], sent[7]) end
  policies[i] = policy
end

local counters = room(#KEYS)
local raw = call('MGET', unpack(KEYS))  -- of keys that hold no string: false
for i = 1, #KEYS do
  local policy = policies[places[2 * i - 1]]
  local rules = policy.rules
  -- Five named fields make room for eight, which is as many as most states have.
  local c = {key = KEYS[i], rules = rules, policy = policy, changed = false, whole = true}
  counters[i] = c
  if rules.text then rules.roll(c, raw[i] or '', places[2 * i]) end
end

-- What earlier leases used and what they leave unused is known before anything is judged.
local function report(c, lease)
  c.life = lease[4]
  if lease[13] and c.rules.seen then c.rules.seen(c, lease[13], lease[14], lease[15]) end
  for k = 5, 11, 2 do
    local count, moment = lease[k], lease[k + 1]
    if count > 0 then
      if c.rules.lent then c.rules.lent(c, -count, moment) end
      if k < 9 then c.rules.adjust(c, moment, -count) end
      c.changed = true
    end
  end
end

-- Takes what the lease asks for beyond the cost: how many, and when one more permit will be there.
local function lend(c, lease)
  local more, least, permille = lease[1], lease[2], lease[3]
  local remaining = c.rules.left(c)
  local extra = min(remaining, max(min(more, floor(remaining * permille / 1000)), least))
  if c.rules.lent and not c.rules.lent(c, extra, now) then extra = 0 end
  c.rules.charge(c, extra)
  return extra, c.rules.within(c, 1) and 0 or c.rules.retry(c, 1)
end

-- The reply. A request asks with more than half as many values as it is answered with.
local reply, said = room(2 * #asked), 1
reply[1] = now
-- Of each layer of a request.
local of, costs, fits = {nil, nil, nil, nil}, {nil, nil, nil, nil}, {nil, nil, nil, nil}
local waits, shadows, leases = {nil, nil, nil, nil}, {nil, nil, nil, nil}, {nil, nil, nil, nil}

-- Judges the `layers` layers of the next request: whether it passes, and the error if a key is of another type.
-- says_more: behind each cost stands what only this request says, a lease or an owner.
local function judge(layers, says_more)
  local passed, fault = true, nil
  for i = 1, layers do
    local place, cost = asked[at + 1], asked[at + 2]
    at = at + 2
    local shadow = place < 0
    local c = counters[shadow and -place or place]
    local rules = c.rules
    of[i], costs[i], shadows[i], leases[i] = c, cost, shadow, false
    if says_more then
      at = at + 1
      if not rules.text then
        c.owner = asked[at]
      elseif asked[at] then
        leases[i] = asked[at]
        report(c, asked[at])
      end
    end
    if not rules.text then fault = rules.roll(c) or fault end
    if not fault then
      local fit
      fit, waits[i] = rules.within(c, cost)
      fits[i] = fit
      passed = passed and (fit or shadow)
    end
  end
  return passed, fault
end

-- Charges the request that was judged, and answers it. detail 'relaxed': layers before the first that refuses stay
-- charged.
local function charge(layers, passed)
  local open = passed or relaxed
  for i = 1, layers do
    local c, cost, fit, lease = of[i], costs[i], fits[i], leases[i]
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
      if lease then granted, next = lend(c, lease) end
    end
    local remaining, reset = rules.left(c)
    local wait = fit and (waits[i] or 0) or rules.retry(c, cost)
    reply[said + 1] = 4 * wait + (take and 3 or fit and 1 or 0)
    reply[said + 2], reply[said + 3] = remaining, reset
    said = said + 3
    if lease then reply[said + 1], reply[said + 2], said = granted, next, said + 2 end
    if decides and c.changed and not rules.text then rules.write(c) end
  end
end

-- What judge and charge do, in fewer steps, for the usual request: each layer enforces and passes at once. False, and
-- nothing is done, if the next request is another.
local function pass(layers)
  for i = 1, layers do
    local place = asked[at + 2 * i - 1]
    local c = counters[place]
    if not c then return false end
    local fit, wait = c.rules.within(c, asked[at + 2 * i])
    if not fit or wait then return false end
    of[i] = c
  end
  for i = 1, layers do
    local c = of[i]
    local rules = c.rules
    rules.charge(c, asked[at + 2 * i])
    c.changed = true
    reply[said + 1] = 3
    reply[said + 2], reply[said + 3] = rules.left(c)
    said = said + 3
  end
  at = at + 2 * layers
  return true
end

local function answer(layers, says_more)
  if usual and not says_more and pass(layers) then return end
  local passed, fault = judge(layers, says_more)
  if fault then
    reply[said + 1], said = fault, said + 1
  else
    charge(layers, passed)
  end
end

local function settle(c, delta)
  local rules = c.rules
  if not rules.adjust then return end
  local fault = not rules.text and rules.roll(c)
  if fault then return fault end
  rules.adjust(c, tonumber(detail), delta)
  c.changed = true
  if not rules.text then rules.write(c) end
end

-- What the layers of a request that is over tell. Returns the error if a key is of another type.
local function hear(layers, says_more)
  local trouble
  for _ = 1, layers do
    local c, cost = counters[asked[at + 1]], asked[at + 2]
    at = at + 2
    if says_more then
      at = at + 1
      c.owner = asked[at]
    end
    if op == 'settle' then
      trouble = settle(c, cost) or trouble
    elseif c.rules[op] then
      c.rules[op](c, cost)
    end
  end
  return trouble
end

local asks, last, trouble = decides or op == 'peek', #asked, nil
while at < last do
  local layers = asked[at + 1]
  local says_more = layers < 0
  at = at + 1
  if says_more then layers = -layers end
  if asks then
    answer(layers, says_more)
  else
    trouble = hear(layers, says_more) or trouble
  end
end

if op ~= 'peek' then
  for i = 1, #counters do
    local c = counters[i]
    if c.changed and c.rules.text then c.rules.write(c) end
  end
end
return trouble or reply
