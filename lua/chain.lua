#!lua
-- SPDX-License-Identifier: Apache-2.0
-- The whole chain of one request in one step: judge every layer, then charge all of them or none.
-- The contract (KEYS, ARGV, reply, state) is in README.md beside this file.

--- @include "prelude_time"

local call, unpack = redis.call, unpack
local floor, ceil, max, min = math.floor, math.ceil, math.max, math.min
local format, match, sub, rep, gsub = string.format, string.match, string.sub, string.rep, string.gsub

local NEVER = -1
local HEAD, STRIDE = 2, 6

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
  }
  if rules.text then
    texts[#texts + 1] = KEYS[i]
    text_layers[#texts] = layers[i]
  end
end

if texts[1] and (op == 'decide' or op == 'peek' or op == 'settle') then
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

local passed = true
for _, c in ipairs(layers) do
  c.rules.roll(c)
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
  take = take and op == 'decide'
  local within, retry, wait = c.within, c.retry, c.wait
  if take then
    c.rules.charge(c)
    c.rules.write(c)
    c.rules.read(c, 0)
  elseif c.repair and op == 'decide' then
    c.rules.write(c)
  end
  local at = 1 + (i - 1) * STRIDE
  reply[at + 1] = within and 1 or 0
  reply[at + 2] = c.remaining
  reply[at + 3] = within and 0 or retry
  reply[at + 4] = c.reset
  reply[at + 5] = wait
  reply[at + 6] = take and 1 or 0
end
return reply
