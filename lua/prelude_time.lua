-- SPDX-License-Identifier: Apache-2.0
-- The clock of every script: the store's own, frozen while a script runs, so that all layers see one `now`.
-- `grace` is added to the life of every key, so that a counter outlives the last moment that needs it.
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local grace = 1000
