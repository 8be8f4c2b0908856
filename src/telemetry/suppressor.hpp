// SPDX-License-Identifier: Apache-2.0
// One line per distinct cause and interval, with a count of those left out (spec OB-2).
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/string_map.hpp"

namespace weir::telemetry {

// Thread-safe. Bounded: at most 256 causes are told apart, the rest share one.
class Suppressor {
 public:
  // nullopt: say nothing now. Else how many lines of this cause were left out since its last one.
  std::optional<std::uint64_t> admit(std::string_view cause, std::int64_t now_ms, std::int64_t interval_ms);

  struct Rest {
    std::string cause;
    std::uint64_t suppressed = 0;
  };
  // Causes whose interval is over and which still owe their count. To say it is their line of the next
  // interval; those that owe nothing are forgotten.
  std::vector<Rest> take_rests(std::int64_t now_ms);

  std::uint64_t suppressed() const;  // since the start, all causes

 private:
  struct State {
    std::int64_t until_ms = 0;
    std::int64_t interval_ms = 0;
    std::uint64_t suppressed = 0;
  };
  mutable std::mutex mutex_;
  StringMap<State> causes_;
  std::uint64_t total_ = 0;
};

}  // namespace weir::telemetry
