#!lua
-- SPDX-License-Identifier: Apache-2.0
-- Makes a counter a fresh one: a counter that does not exist is one. Of a fixed window it stays known when that was,
-- for as long as the window lasts: what its askers saw used before is not believed afterwards (chain.lua, `seen`).
-- KEYS: the counter. ARGV: of a fixed window how long it lasts, in ms.
-- Reply: 1 if there was anything to forget, else 0.

--- @include "prelude_time"

local nothing = struct.pack('>Bdd', 2, 0, 0)  -- layout, used, ends
local raw = redis.pcall('GET', KEYS[1])
local fresh = type(raw) == 'string' and string.sub(raw, 1, #nothing) == nothing
local existed = redis.call('DEL', KEYS[1])
if ARGV[1] then
  local state = nothing .. struct.pack('>d', now)
  redis.call('SET', KEYS[1], state, 'PX', string.format('%d', tonumber(ARGV[1]) + grace))
end
return fresh and 0 or existed
