// SPDX-License-Identifier: Apache-2.0
// A set of its own for the memory store: the layers of a request that this process counts alone, with
// policies scaled to this instance's share and keys that meet no others.
//
// factor = min(1, 1.2 x share), and the rate is exact: what rounding a small limit up would give too much is
// taken back by a longer window (3 permits a second times 0.24 are 1 permit in 1389 ms, not 1 a second).
// Calendar windows and concurrency cannot be stretched: their limit is rounded up. A limit is at least the
// request's cost, which would otherwise never pass. Shares that were learned are rounded down to steps of 9
// %, so that policies stay few; the stretched window is part of the key, since state counted in one window
// means nothing in another.
#pragma once

#include <array>

#include "weir/limit/decision.hpp"

namespace weir::store {

// The terms of an instance that has `factor` (0 to 1) of the traffic.
limit::Terms scaled(const limit::Terms& whole, double factor, std::int64_t cost);
// min(1, 1.2 x share).
double local_factor(double share, bool learned);

class LocalSet {
 public:
  limit::ChargeSet set;

  void add(const limit::Charge& charge, std::size_t origin, double factor, std::int64_t cost);
  // Where in the whole chain a layer of this set stands.
  std::size_t origin(std::size_t layer) const { return origins_[layer]; }

 private:
  static constexpr std::size_t kMarkBytes = 28;  // "local:", a number, ":"
  std::string_view mark(std::string_view key, const limit::Terms& terms);

  std::array<limit::Policy, limit::kMaxLayers> policies_;
  std::array<std::size_t, limit::kMaxLayers> origins_;
  std::array<char, limit::kKeyBytes + limit::kMaxLayers * kMarkBytes> keys_;
  std::size_t used_ = 0;
};

}  // namespace weir::store
