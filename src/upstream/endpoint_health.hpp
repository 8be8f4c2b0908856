// SPDX-License-Identifier: Apache-2.0
// Whether one endpoint is to be used: the state machine behind active and passive checks. Pure: time comes in
// as an argument (milliseconds, monotonic).
//
//   in service --(failures in a row)--> ejected --(its time is over)--> in service, with a slow start
//   in service --(`unhealthy` bad checks in a row)--> unhealthy --(`healthy` good ones)--> in service,
//   likewise
//
// The n-th ejection lasts n times `time`, at most `max_time`. As long as an endpoint was ejected it has to
// serve without another ejection before the next counts as the first again. One more failure after a return
// is enough to be ejected again. An endpoint nobody has checked yet counts as healthy.
#pragma once

#include <cstdint>
#include <limits>

#include "weir/upstream/options.hpp"

namespace weir::upstream {

class EndpointHealth {
 public:
  static constexpr std::int64_t kForever = std::numeric_limits<std::int64_t>::max();

  // Each returns true if the state changed.
  bool check_passed(const HealthOptions& options, std::int64_t now_ms) noexcept;
  bool check_failed(const HealthOptions& options, std::int64_t now_ms) noexcept;
  // Of a request. `may_eject`: whether the ejected endpoints' share allows another one.
  enum class Leave : std::uint8_t { granted, refused };
  bool request_failed(const EjectionOptions& options, Leave leave, std::int64_t now_ms) noexcept;
  void request_succeeded() noexcept;
  // An ejection that is over by now ends.
  bool tick(std::int64_t now_ms) noexcept;
  // Without active checks nothing is unhealthy.
  bool forget_checks(std::int64_t now_ms) noexcept;

  bool unhealthy() const noexcept { return unhealthy_; }
  bool ejected() const noexcept { return ejected_until_ms_ != 0; }
  // Not to be used before then: 0 while in service.
  std::int64_t out_until_ms() const noexcept { return unhealthy_ ? kForever : ejected_until_ms_; }
  std::int64_t back_since_ms() const noexcept { return back_since_ms_; }  // 0: never was out
  int failures() const noexcept { return failures_; }                     // requests, in a row

 private:
  void come_back(std::int64_t now_ms) noexcept;

  std::int64_t ejected_until_ms_ = 0;
  std::int64_t ejection_ms_ = 0;  // how long the last one was
  std::int64_t back_since_ms_ = 0;
  int ejections_ = 0;  // of late
  int failures_ = 0;
  int good_checks_ = 0;
  int bad_checks_ = 0;
  bool unhealthy_ = false;
};

// The share of its weight, in 1024ths, that an endpoint gets which came back at `back_since_ms`: it grows
// evenly over `slow_start_ms`, from a tenth on.
inline std::int64_t slow_start_share(std::int64_t back_since_ms, std::int64_t slow_start_ms,
                                     std::int64_t now_ms) noexcept {
  const std::int64_t back_for = now_ms - back_since_ms;
  if (back_since_ms == 0 || slow_start_ms == 0 || back_for >= slow_start_ms) return 1024;
  const std::int64_t share = back_for * 1024 / slow_start_ms;
  return share < 102 ? 102 : share;
}

}  // namespace weir::upstream
