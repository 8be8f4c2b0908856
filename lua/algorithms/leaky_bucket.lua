-- SPDX-License-Identifier: Apache-2.0
-- leaky_bucket: a token bucket that may go below empty; who takes it there waits. terms: the burst, the longest wait
-- in ms.

local function queue_of(p, max_wait)
  return floor(max_wait * p.limit / p.window)
end

--- @include "bucket"
