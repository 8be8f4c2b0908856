-- SPDX-License-Identifier: Apache-2.0
-- Takes the place of prelude_time in tests: the clock is one more ARGV at the end. A key ends 20 years after it
-- should by that clock, so that its end can be told from PTTL wherever the clock is (ScriptClient::life_of).
local now = tonumber(table.remove(ARGV))
local clock = redis.call('TIME')
local grace = 1000 + 630720000000 + now - (clock[1] * 1000 + math.floor(clock[2] / 1000))
