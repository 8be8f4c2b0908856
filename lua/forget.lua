#!lua
-- SPDX-License-Identifier: Apache-2.0
-- Makes counters fresh ones: a counter that does not exist is one.
return redis.call('DEL', unpack(KEYS))
