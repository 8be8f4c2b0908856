#!lua
-- SPDX-License-Identifier: Apache-2.0
-- The permits that a region holds of counters which all regions share: batches that its gateways were granted by the
-- parent store, and spend together. The contract (KEYS, ARGV, reply, state) is in README.md beside this file.

--- @include "prelude_time"

local call, format, byte = redis.call, string.format, string.byte
local floor, ceil, max, min = math.floor, math.ceil, math.max, math.min
local pack, read = struct.pack, struct.unpack

local LAYOUT = 1     -- the first byte of the state
local MOST = 4       -- batches that are known: those that can be spent, and before them those that are over
local DENIAL = 1000  -- ms for which a refusal is believed at most
local KEPT = 5000    -- ms for which is known how often a key is asked for, and what came back late

-- What the first bytes hold, each a double; of each batch behind them the second.
local FIELDS = {'server', 'last', 'rate', 'since', 'count', 'ticket', 'blocked', 'granted', 'heard', 'remaining', 'resets',
                'tag', 'fleet', 'deny_until', 'deny_cost', 'retry_at', 'seen', 'seen_ends', 'seen_at'}
local BATCH = {'at', 'ends', 'permits', 'used', 'worth'}
local HEAD, EACH = 1 + 8 * #FIELDS, 8 * #BATCH

local EMPTY, COVERED, DENIED, TAKEN = 0, 1, 2, 3

-- -------------------------------------------------------------------------------------------------- the state

local function read_state(s, raw)
  for i, name in ipairs(FIELDS) do s[name] = read('>d', raw, 8 * i - 6) end
  for from = HEAD + 1, #raw, EACH do
    local b = {}
    for i, name in ipairs(BATCH) do b[name] = read('>d', raw, from + 8 * (i - 1)) end
    s.batches[#s.batches + 1] = b
  end
end

local function forget(s)
  for _, name in ipairs(FIELDS) do
    if name ~= 'rate' and name ~= 'since' and name ~= 'count' then s[name] = 0 end
  end
  s.batches = {}
end

-- How much time has passed is not known any more.
local function end_all(s)
  for _, b in ipairs(s.batches) do b.ends = min(b.ends, now) end
  s.since, s.count, s.ticket, s.blocked, s.heard, s.tag, s.deny_until = now, 0, 0, 0, 0, 0, 0
end

-- Another server than the one that wrote it, or the same one started anew, may have lost the last writes: what it
-- still holds may be spent already.
local function load(key, server)
  local s = {key = key, batches = {}}
  for _, name in ipairs(FIELDS) do s[name] = 0 end
  local raw = redis.pcall('GET', key)
  if type(raw) == 'string' and #raw >= HEAD and (#raw - HEAD) % EACH == 0 and byte(raw) == LAYOUT then
    read_state(s, raw)
  end
  if s.server ~= server then
    forget(s)
  elseif now < s.last then
    end_all(s)
  end
  s.server, s.last = server, now
  for _, b in ipairs(s.batches) do
    if now >= b.ends and b.worth == 0 then b.permits = 0 end
  end
  return s
end

local function save(s)
  local parts, ends = {pack('>B', LAYOUT)}, max(now, s.blocked)
  for _, name in ipairs(FIELDS) do parts[#parts + 1] = pack('>d', s[name]) end
  for _, b in ipairs(s.batches) do
    ends = max(ends, b.ends)
    for _, name in ipairs(BATCH) do parts[#parts + 1] = pack('>d', b[name]) end
  end
  call('SET', s.key, table.concat(parts), 'PX', format('%d', ends - now + KEPT + grace))
end

-- ----------------------------------------------------------------------------------------- what the state says

local function batch_at(s, at)
  for _, b in ipairs(s.batches) do
    if b.at == at then return b end
  end
end

-- The oldest one that can be spent and holds so many.
local function batch_with(s, permits)
  for _, b in ipairs(s.batches) do
    if now < b.ends and b.permits >= permits then return b end
  end
end

-- Permits that can be spent, and until when the last of them; permits that nobody has used and nobody can any more.
local function held(s)
  local live, ends, rest = 0, 0, 0
  for _, b in ipairs(s.batches) do
    if now >= b.ends then
      rest = rest + b.permits
    elseif b.permits > 0 then
      live, ends = live + b.permits, max(ends, b.ends)
    end
  end
  return live, ends, rest
end

-- Permits in 1000 s that the region asks for.
local function count(s, permits)
  if s.since == 0 then s.since = now end
  s.count = s.count + permits
  local stretch = now - s.since
  local tells = stretch >= 100 and s.count >= 20 or stretch >= 250 and s.count >= 8 or stretch >= 1000
  if not tells then return end
  local rate = floor(s.count * 1000000 / stretch)
  if s.rate ~= 0 and stretch < 3000 then rate = floor((s.rate + rate) / 2) end
  s.rate, s.since, s.count = rate, now, 0
end

local function rate_of(s)
  local stretch = now - s.since
  if stretch < 1000 then return s.rate end
  return min(s.rate, floor((s.count + 1) * 1000000 / stretch))
end

-- The parent's last word is about the window that is running.
local function is_known(s)
  return s.heard > 0 and (s.tag == 0 or now < s.tag)
end

-- ------------------------------------------------------------------------------------------------- what is done

-- Permits that a gateway did not use, and those that it did, of a batch that was granted at `at`.
local function give_back(s, permits, at)
  local b = permits > 0 and batch_at(s, at)
  if b and (now < b.ends or b.worth ~= 0) then b.permits = b.permits + permits end
end

local function note_used(s, permits, at)
  local b = permits > 0 and batch_at(s, at)
  if b then b.used = b.used + permits end
end

local function add_batch(s, b)
  local same = batch_at(s, b.at)
  if same then
    same.permits, same.ends = same.permits + b.permits, min(same.ends, b.ends)
    return
  end
  s.batches[#s.batches + 1] = b
  if #s.batches > MOST then table.remove(s.batches, 1) end
end

local function hear(s, word)
  s.heard, s.remaining, s.resets, s.tag = word.asked, word.remaining, word.asked + word.reset, word.tag
  if word.deny_ms > 0 then
    s.deny_cost, s.retry_at, s.deny_until = word.deny_cost, now + word.deny_ms, now + min(word.deny_ms, DENIAL)
  elseif word.remaining > 0 then
    s.deny_until = 0
  end
end

-- The order to ask the parent, for whoever sent this ticket: what there is to tell it goes with the order, at most once.
local function order(s, ticket, hold)
  s.ticket, s.blocked = ticket, now + hold
  local back, spent = {}, {}
  for _, b in ipairs(s.batches) do
    if #back < 4 and now >= b.ends and b.permits > 0 then
      back[#back + 1], back[#back + 2], b.permits = b.permits, b.at, 0
    end
    if #spent < 4 and b.used > 0 then spent[#spent + 1], spent[#spent + 2], b.used = b.used, b.at, 0 end
  end
  local left = is_known(s) and s.tag > 0 and s.tag - now or -1
  return {rate_of(s), s.fleet, left, s.heard > 0 and now - s.heard or -1, s.tag > 0 and s.tag - s.heard or -1,
          s.remaining, back[1] or 0, back[2] or 0, back[3] or 0, back[4] or 0, spent[1] or 0, spent[2] or 0,
          spent[3] or 0, spent[4] or 0, s.seen, s.seen_ends, s.seen_at}
end

local reply = {now}

-- Somebody asks the parent, and has not said yet what it answered.
local function is_fetching(s)
  return s.ticket ~= 0 and now < s.blocked
end

local function answer(s, status, granted, order_given)
  local live, ends, rest = held(s)
  local from = s.from
  local waits = now < s.deny_until or status == DENIED
  local ordered = order_given and 1 or is_fetching(s) and 2 or 0
  for _, value in ipairs({status, is_known(s) and s.remaining + live or -1, max(0, s.resets - now),
                          waits and max(1, s.retry_at - now) or 0, granted, from and from.at or 0,
                          from and from.ends - now or 0, live, live > 0 and ends - now or 0, rest, ordered}) do
    reply[#reply + 1] = value
  end
  for _, value in ipairs(order_given or {}) do reply[#reply + 1] = value end
end

-- -------------------------------------------------------------------------------------------------- operations

local op, asked, at = ARGV[1], {cmsgpack.unpack(ARGV[2])}, 0

local function next_asked()
  at = at + 1
  return asked[at]
end

-- What a gateway has to say of a key before anything is judged: lease = {more, least, permille, demand, two that are
-- given back, two that were used}.
local function report(s, cost, lease)
  count(s, lease and lease[4] or cost)
  if not lease then return end
  for k = 5, 7, 2 do give_back(s, lease[k], lease[k + 1]) end
  for k = 9, 11, 2 do note_used(s, lease[k], lease[k + 1]) end
end

-- While the one call is under way that looks whether permits have come back, the last word still stands.
local function judge(s, cost, warm)
  s.from = batch_with(s, max(cost, 1))
  if s.from then return COVERED end
  local looks = is_fetching(s) and is_known(s) and s.remaining == 0 and rate_of(s) >= warm
  local denied = now < s.deny_until and cost >= s.deny_cost
  return cost > 0 and (denied or looks) and DENIED or EMPTY
end

local function lend(s, lease)
  local b = s.from
  if not lease or not b then return 0 end
  local all = held(s) + (is_known(s) and s.remaining or 0)
  local extra = min(b.permits, max(min(lease[1], floor(all * lease[3] / 1000)), lease[2]))
  b.permits = b.permits - extra
  return extra
end

local function wants_more(s, how)
  local rate = rate_of(s)
  if how.ticket == 0 or now < s.blocked or now < s.deny_until or rate < how.warm then return false end
  local live, ends = held(s)
  if live <= min(ceil(rate * how.ahead / 1000000), floor(s.granted / 4)) then return true end
  return ends - now <= how.ahead and (s.tag == 0 or ends + how.ahead < s.tag)
end

local operations = {}

-- All layers of a request, or those of them that share a slot: if no enforcing one is denied, what each costs is taken
-- where it is held, and the gateway's own lease with it.
function operations.take(server)
  local how = {ticket = next_asked(), warm = next_asked(), ahead = next_asked(), hold = next_asked()}
  local layers, refused = {}, false
  for i, key in ipairs(KEYS) do
    local layer = {s = load(key, server), shadow = next_asked() == 1, cost = next_asked(), lease = next_asked()}
    report(layer.s, layer.cost, layer.lease)
    layer.status = judge(layer.s, layer.cost, how.warm)
    refused = refused or layer.status == DENIED and not layer.shadow
    layers[i] = layer
  end
  for _, layer in ipairs(layers) do
    local s, granted, order_given = layer.s, 0, nil
    if layer.status == COVERED and not refused then
      s.from.permits, s.from.used = s.from.permits - layer.cost, s.from.used + layer.cost
      granted, layer.status = lend(s, layer.lease), TAKEN
    end
    local asks = layer.cost > 0 or layer.lease and layer.lease[1] > 0
    local open = layer.status == TAKEN or layer.status == EMPTY
    if asks and open and not refused and wants_more(s, how) then order_given = order(s, how.ticket, how.hold) end
    answer(s, layer.status, granted, order_given)
    save(s)
  end
end

-- What the parent said to whoever had the ticket. 1: known now, and what it granted can be spent. 0: the ticket is not
-- valid any more, or the permits came too late.
function operations.fill(server)
  local s, ticket = load(KEYS[1], server), next_asked()
  local valid = ticket ~= 0 and s.ticket == ticket
  reply[2] = 0
  if not valid then return end
  s.ticket, s.blocked = 0, 0
  local b = {permits = next_asked(), at = next_asked(), ends = next_asked(), worth = next_asked(), used = 0}
  hear(s, {asked = next_asked(), remaining = next_asked(), reset = next_asked(), tag = next_asked(),
           deny_ms = next_asked(), deny_cost = next_asked()})
  s.fleet, s.seen, s.seen_ends, s.seen_at = next_asked(), next_asked(), next_asked(), next_asked()
  if b.permits > 0 and now < b.ends then
    add_batch(s, b)
    s.granted, reply[2] = b.permits, 1
  end
  save(s)
end

-- A refusal that somebody heard who had no ticket. While one is fetching it may be for what that one took, who has the
-- last word.
function operations.heard(server)
  local s = load(KEYS[1], server)
  if is_fetching(s) then return end
  hear(s, {asked = next_asked(), remaining = next_asked(), reset = next_asked(), tag = next_asked(),
           deny_ms = next_asked(), deny_cost = next_asked()})
  save(s)
end

-- The parent did not answer, or there was nothing to ask: after a pause the next one may.
function operations.failed(server)
  local s, ticket, pause = load(KEYS[1], server), next_asked(), next_asked()
  if s.ticket ~= ticket then return end
  s.ticket, s.blocked = 0, now + pause
  save(s)
end

-- What was taken for a request which another store refused: the cost, and a gateway's lease.
function operations.put(server)
  local s, cost, lent, from = load(KEYS[1], server), next_asked(), next_asked(), next_asked()
  local b = batch_at(s, from)
  if b and b.used >= cost then
    b.used = b.used - cost
    give_back(s, cost, from)
  end
  give_back(s, lent, from)
  save(s)
end

-- What is over and unused is to go back to the parent, unless the next fetch will soon take it along. closes: all that
-- is held is over now.
function operations.sweep(server)
  local ticket, hold, closes = next_asked(), next_asked(), next_asked() == 1
  local s = load(KEYS[1], server)
  for _, b in ipairs(s.batches) do
    if closes and now < b.ends then b.ends, b.worth = now, 1 end
  end
  local live, _, rest = held(s)
  local free = closes or live == 0 and now >= s.blocked
  answer(s, EMPTY, 0, rest > 0 and free and order(s, ticket, hold) or nil)
  save(s)
end

-- Which server this is; '' if the account may not ask.
if op == 'server' then
  local info = redis.pcall('INFO', 'server')
  return type(info) == 'string' and string.match(info, 'run_id:(%x+)') or ''
end

operations[op](next_asked())
return reply
