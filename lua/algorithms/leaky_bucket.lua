-- SPDX-License-Identifier: Apache-2.0
-- leaky_bucket: a token bucket that may go below empty; who takes it there waits. terms: "burst:max_wait_ms".

local function read_terms(c)
  local burst, max_wait = match(c.terms, '^(%d+):(%d+)$')
  c.burst, c.queue = tonumber(burst), floor(max_wait * c.limit / c.window)
end

--- @include "bucket"
