// SPDX-License-Identifier: Apache-2.0
// What this worker let through on its own while the shared store was ill, by counter, as far as the shared
// counter would still count it: what is handed in when the store is back (bounded catch-up).
//
//   fixed windows     the use of the window that is running; a window that is over owes nothing
//   rolling windows   the use of the last window, kept by quarters
//   bucket kinds      what a bucket would not have refilled meanwhile
//   concurrency       nothing: slots are given back where they were taken
//
// Times are the store's clock, as last known when the store failed, carried on by the monotonic clock.
// Bounded: what comes when it is full is forgiven. One thread.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/string_map.hpp"
#include "weir/limit/decision.hpp"

namespace weir::store {

class LadderLedger {
 public:
  // `name` is that of the shared counter.
  void note(const limit::Charge& charge, std::int64_t permits, std::int64_t now_ms);

  struct Debt {
    std::string key;
    limit::Policy policy;
    limit::Request request;
    std::int64_t permits = 0;  // at least 1
  };
  // What is still owed at `now_ms` of the counters that `is_back` says can be charged again. The others stay.
  std::vector<Debt> take(std::int64_t now_ms, const std::function<bool(std::string_view)>& is_back);

  std::size_t size() const noexcept { return entries_.size(); }
  std::uint64_t forgiven() const noexcept { return forgiven_; }  // permits, for lack of room

 private:
  static constexpr std::size_t kMost = 4096;
  struct Quarter {
    std::int64_t number = -1;
    std::int64_t permits = 0;
  };
  struct Entry {
    limit::Policy policy;
    limit::Request request;
    std::array<Quarter, 4> quarters;
    std::int64_t level = 0;  // bucket kinds: permits * window_ms that are not refilled yet
    std::int64_t at_ms = 0;
  };

  static std::int64_t number_at(const Entry& entry, std::int64_t now_ms);
  static void add(Entry& entry, std::int64_t permits, std::int64_t now_ms);
  static std::int64_t owed(const Entry& entry, std::int64_t now_ms);

  StringMap<Entry> entries_;
  std::uint64_t forgiven_ = 0;
};

}  // namespace weir::store
