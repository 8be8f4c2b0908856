// SPDX-License-Identifier: Apache-2.0
// What a rehearsal found: the quotas in force and new ones side by side, in bounded memory.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/string_map.hpp"

namespace weir::app {

enum Side : std::uint8_t { in_force = 0, renewed = 1 };

// What both sides said to one request.
struct Verdicts {
  struct One {
    bool refused = false;
    std::string_view layer;         // that refused, "" if none
    std::string_view shadow_layer;  // the first shadow layer that would have
    bool delayed = false;           // let through after it was held back
  };
  std::int64_t time_ms = 0;
  std::string_view caller;  // "" where there was none
  std::string_view user;
  std::string_view api;  // as the new quotas see it
  std::array<One, 2> side;
};

// Counts of one caller, user or API, or of all.
struct Tally {
  std::uint64_t requests = 0;
  std::array<std::uint64_t, 2> refused{};
  std::uint64_t newly_refused = 0;         // allowed by the quotas in force, refused by the new ones
  std::uint64_t newly_allowed = 0;         // the reverse
  std::vector<std::uint64_t> by_layer;     // refused by the new quotas, by index into layers()
  std::int64_t first_ms = 0, last_ms = 0;  // of the refusals by the new quotas; 0: none

  void add(const Verdicts& verdicts, std::size_t layer);
  void add(const Tally& other);
};

// Names with their tallies. Exact while there are at most kRoom; beyond, the half with the fewest refusals,
// then requests, is dropped into `others`, and a name that comes back starts anew.
class TallyTable {
 public:
  static constexpr std::size_t kRoom = 50'000;

  void add(std::string_view name, const Verdicts& verdicts, std::size_t layer);
  // The most affected first: newly refused, then newly allowed, then refused, then requests; at most `most`.
  std::vector<std::pair<std::string, Tally>> top(std::size_t most) const;
  std::size_t size() const noexcept { return names_.size(); }
  // Names with a newly refused request.
  std::size_t newly_refused() const;
  const Tally& others() const noexcept { return others_; }
  std::uint64_t dropped() const noexcept { return dropped_; }

 private:
  void drop_lighter_half();

  StringMap<Tally> names_;
  Tally others_;
  std::uint64_t dropped_ = 0;
};

class Comparison {
 public:
  // A stretch of the log's time.
  struct Interval {
    std::uint64_t requests = 0;
    std::array<std::uint64_t, 2> refused{};
  };
  static constexpr std::size_t kIntervals = 240;

  void add(const Verdicts& verdicts);
  void add_logged_refusal(std::uint64_t weight) noexcept { logged_refusals_ += weight; }

  const Tally& all() const noexcept { return all_; }
  const TallyTable& callers() const noexcept { return callers_; }
  const TallyTable& users() const noexcept { return users_; }
  const TallyTable& apis() const noexcept { return apis_; }
  const std::vector<std::string>& layers() const noexcept { return layers_; }
  // By index into layers().
  const std::vector<std::uint64_t>& refused_by(Side side) const noexcept { return refused_by_[side]; }
  const std::vector<std::uint64_t>& shadow_refused_by(Side side) const noexcept { return shadow_by_[side]; }
  std::uint64_t delayed(Side side) const noexcept { return delayed_[side]; }
  // As the gateway that wrote the log did, with weights.
  std::uint64_t logged_refusals() const noexcept { return logged_refusals_; }

  // At most kIntervals of interval_ms() each, from start_ms() on.
  const std::vector<Interval>& intervals() const noexcept { return intervals_; }
  std::int64_t interval_ms() const noexcept { return interval_ms_; }
  std::int64_t start_ms() const noexcept { return start_ms_; }
  std::int64_t end_ms() const noexcept { return end_ms_; }

 private:
  std::size_t layer_index(std::string_view name);
  void add_to_intervals(const Verdicts& verdicts);

  Tally all_;
  TallyTable callers_, users_, apis_;
  std::vector<std::string> layers_;
  std::array<std::vector<std::uint64_t>, 2> refused_by_, shadow_by_;
  std::array<std::uint64_t, 2> delayed_{};
  std::uint64_t logged_refusals_ = 0;
  std::vector<Interval> intervals_;
  std::int64_t interval_ms_ = 1000;
  std::int64_t start_ms_ = 0, end_ms_ = 0;
  std::string name_;  // of a user, while it is put together
};

}  // namespace weir::app
