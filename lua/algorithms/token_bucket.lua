-- SPDX-License-Identifier: Apache-2.0
-- token_bucket: holds `burst` permits, refilled lazily. terms: the burst.

local function read_terms(c)
  c.burst, c.queue = tonumber(c.terms), 0
end

--- @include "bucket"
