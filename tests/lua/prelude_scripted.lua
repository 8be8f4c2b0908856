-- SPDX-License-Identifier: Apache-2.0
-- Takes the place of prelude_time in tests: the clock is one more ARGV at the end, and keys live an hour longer
-- than they should, so that a trace whose clock stands still loses no counter to the real one.
local now = tonumber(table.remove(ARGV))
local grace = 3600000
