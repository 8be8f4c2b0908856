-- SPDX-License-Identifier: Apache-2.0
-- token_bucket: holds `burst` permits, refilled lazily. terms: the burst.

local function queue_of()
  return 0
end

--- @include "bucket"
