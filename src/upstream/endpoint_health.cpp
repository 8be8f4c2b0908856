// SPDX-License-Identifier: Apache-2.0
#include "upstream/endpoint_health.hpp"

#include <algorithm>

namespace weir::upstream {

bool EndpointHealth::check_passed(const HealthOptions& options, std::int64_t now_ms) noexcept {
  bad_checks_ = 0;
  if (!unhealthy_ || ++good_checks_ < options.healthy) return false;
  unhealthy_ = false;
  come_back(now_ms);
  return true;
}

bool EndpointHealth::check_failed(const HealthOptions& options, std::int64_t) noexcept {
  good_checks_ = 0;
  if (unhealthy_ || ++bad_checks_ < options.unhealthy) return false;
  unhealthy_ = true;
  return true;
}

bool EndpointHealth::request_failed(const EjectionOptions& options, Leave leave,
                                    std::int64_t now_ms) noexcept {
  if (options.failures == 0 || ejected() || unhealthy_) return false;
  failures_ = std::min(failures_ + 1, options.failures);
  if (failures_ < options.failures || leave == Leave::refused) return false;
  if (ejections_ > 0 && now_ms - back_since_ms_ >= ejection_ms_) ejections_ = 0;
  ++ejections_;
  ejection_ms_ = std::min(options.time.count() * ejections_, options.max_time.count());
  ejected_until_ms_ = now_ms + ejection_ms_;
  failures_ = options.failures - 1;
  return true;
}

void EndpointHealth::request_succeeded() noexcept {
  failures_ = 0;
}

bool EndpointHealth::tick(std::int64_t now_ms) noexcept {
  if (!ejected() || now_ms < ejected_until_ms_) return false;
  come_back(ejected_until_ms_);
  return true;
}

bool EndpointHealth::forget_checks(std::int64_t now_ms) noexcept {
  good_checks_ = bad_checks_ = 0;
  if (!unhealthy_) return false;
  unhealthy_ = false;
  come_back(now_ms);
  return true;
}

void EndpointHealth::come_back(std::int64_t now_ms) noexcept {
  ejected_until_ms_ = 0;
  good_checks_ = bad_checks_ = 0;
  back_since_ms_ = now_ms;
}

}  // namespace weir::upstream
