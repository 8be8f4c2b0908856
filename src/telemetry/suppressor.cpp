// SPDX-License-Identifier: Apache-2.0
#include "telemetry/suppressor.hpp"

namespace weir::telemetry {
namespace {

constexpr std::size_t kMaxCauses = 256;
constexpr std::string_view kOther = "other";

}  // namespace

std::optional<std::uint64_t> Suppressor::admit(std::string_view cause, std::int64_t now_ms,
                                               std::int64_t interval_ms) {
  const std::lock_guard lock(mutex_);
  auto found = causes_.find(cause);
  if (found == causes_.end()) {
    const bool full = causes_.size() >= kMaxCauses;
    found = causes_.try_emplace(std::string(full ? kOther : cause)).first;
  }
  State& state = found->second;
  if (now_ms < state.until_ms) {
    ++state.suppressed;
    ++total_;
    return std::nullopt;
  }
  state.interval_ms = interval_ms;
  state.until_ms = now_ms + interval_ms;
  return std::exchange(state.suppressed, 0);
}

std::vector<Suppressor::Rest> Suppressor::take_rests(std::int64_t now_ms) {
  const std::lock_guard lock(mutex_);
  std::vector<Rest> rests;
  for (auto cause = causes_.begin(); cause != causes_.end();) {
    State& state = cause->second;
    if (now_ms < state.until_ms) {
      ++cause;
    } else if (state.suppressed == 0) {
      causes_.erase(cause++);
    } else {
      rests.push_back({cause->first, std::exchange(state.suppressed, 0)});
      state.until_ms = now_ms + state.interval_ms;
      ++cause;
    }
  }
  return rests;
}

std::uint64_t Suppressor::suppressed() const {
  const std::lock_guard lock(mutex_);
  return total_;
}

}  // namespace weir::telemetry
