-- SPDX-License-Identifier: Apache-2.0
-- Takes the place of prelude_time where a test goes through RedisStore: the clock is a key that the test sets.
-- Keys live an hour longer, as under prelude_scripted.
local now = tonumber(redis.call('GET', 'test:now'))
local grace = 3600000
