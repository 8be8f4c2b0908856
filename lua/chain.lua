#!lua
-- SPDX-License-Identifier: Apache-2.0
-- The whole chain of one request in one step: judge every layer, then charge all of them or none.
-- The contract (KEYS, ARGV, reply, state) is in README.md beside this file.

--- @include "prelude_time"

local call, unpack = redis.call, unpack
local floor, ceil, max, min = math.floor, math.ceil, math.max, math.min
local format, match, gmatch, sub, rep, gsub =
  string.format, string.match, string.gmatch, string.sub, string.rep, string.gsub

local NEVER = -1
local HEAD = 2

-- The state of a counter that is one string. It never lives without an end.
local function keep(key, text, life)
  call('SET', key, text, 'PX', format('%d', max(life, 0) + grace))
end

-- Only the rules that a call needs are made. Each file returns
--   text            true: the state is one string, read for all layers at once into c.raw ('' = fresh)
--   roll(c)         brings the state up to `now`; c.repair = true: write it even if nothing is charged
--   read(c, cost)   sets c.within, c.remaining, c.retry, c.reset (and c.wait)
--   charge(c)       takes c.cost permits        adjust(c, charged_at, delta)   settles
--   write(c)        stores what roll, charge and adjust made of the state
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

local op, detail = ARGV[1], ARGV[2]
local leasing = op == 'lease'
local decides = leasing or op == 'decide'
local STRIDE, ANSWERS = leasing and 7 or 6, leasing and 8 or 6
local layers, made, texts, text_layers = {}, {}, {}, {}

for i = 1, #KEYS do
  local at = HEAD + (i - 1) * STRIDE
  local algorithm = ARGV[at + 1]
  local rules = made[algorithm] or make(algorithm)
  if not rules then return redis.error_reply('ERR weir: no such algorithm') end
  made[algorithm] = rules
  layers[i] = {
    key = KEYS[i],
    rules = rules,
    shadow = ARGV[at + 2] == 'shadow',
    limit = tonumber(ARGV[at + 3]),
    window = tonumber(ARGV[at + 4]),
    cost = tonumber(ARGV[at + 5]),
    terms = ARGV[at + 6],
    -- Named here so that the table has its final size at once: growing it costs more than judging.
    raw = '', repair = false, within = false, remaining = 0, retry = 0, reset = 0, wait = 0,
    burst = 0, queue = 0, cap = 0, level = 0,
    lease = leasing and ARGV[at + 7] or '', more = 0, least = 0, share = 0, life = 0, granted = 0, next = 0,
  }
  if rules.text then
    texts[#texts + 1] = KEYS[i]
    text_layers[#texts] = layers[i]
  end
end

if texts[1] and (decides or op == 'peek' or op == 'settle') then
  local raw = call('MGET', unpack(texts))
  for i = 1, #texts do text_layers[i].raw = raw[i] or '' end
end

if op == 'settle' then
  local charged_at = tonumber(detail)
  for _, c in ipairs(layers) do
    if c.rules.adjust then
      c.rules.roll(c)
      c.rules.adjust(c, charged_at, c.cost)
      c.rules.write(c)
    end
  end
  return {now}
elseif op == 'release' or op == 'renew' then
  for _, c in ipairs(layers) do
    if c.rules[op] then c.rules[op](c) end
  end
  return {now}
end

-- What earlier leases used and what they leave unused is known before anything is judged.
local function report(c)
  local n = {}
  for number in gmatch(c.lease, '%d+') do n[#n + 1] = tonumber(number) end
  c.more, c.least, c.share, c.life = n[1], n[2], n[3], n[4]
  for k = 5, 11, 2 do
    local count, at = n[k], n[k + 1]
    if c.rules.lent then c.rules.lent(c, -count, at) end
    if k < 9 and count > 0 then
      c.rules.adjust(c, at, -count)
      c.repair = true
    end
  end
end

-- Takes what the lease asks for beyond the cost, and says when one more permit will be there.
local function lend(c)
  c.rules.read(c, 0)
  local extra = min(c.remaining, max(min(c.more, floor(c.remaining * c.share / 1000)), c.least))
  if c.rules.lent and not c.rules.lent(c, extra, now) then extra = 0 end
  c.cost, c.granted = extra, extra
  c.rules.charge(c)
  c.rules.read(c, 1)
  c.next = c.within and 0 or c.retry
end

local passed = true
for _, c in ipairs(layers) do
  c.rules.roll(c)
  if c.lease ~= '' then report(c) end
  c.rules.read(c, c.cost)
  if not c.within and not c.shadow then passed = false end
end

-- detail 'relaxed': layers before the first that refuses stay charged.
local open = passed or detail == 'relaxed'
local reply = {now}
for i, c in ipairs(layers) do
  local take = c.within and open
  if c.shadow then
    take = c.within and passed
  elseif not c.within then
    open = false
  end
  take = take and decides
  local within, retry, wait = c.within, c.retry, c.wait
  if take then
    c.rules.charge(c)
    if c.lease ~= '' then lend(c) end
    c.rules.write(c)
    c.rules.read(c, 0)
  elseif c.repair and decides then
    c.rules.write(c)
  end
  local at = 1 + (i - 1) * ANSWERS
  reply[at + 1] = within and 1 or 0
  reply[at + 2] = c.remaining
  reply[at + 3] = within and 0 or retry
  reply[at + 4] = c.reset
  reply[at + 5] = wait
  reply[at + 6] = take and 1 or 0
  if leasing then reply[at + 7], reply[at + 8] = c.granted, c.next end
end
return reply
