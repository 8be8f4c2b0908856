// SPDX-License-Identifier: Apache-2.0
#include "app/request_log.hpp"

#include <ctime>

namespace weir::app {
namespace {

std::int64_t thread_cpu_us() noexcept {
  timespec used{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return used.tv_sec * std::int64_t{1000000} + used.tv_nsec / 1000;
}

}  // namespace

void RequestLog::finished(const telemetry::RequestRecord& record) noexcept {
  metrics_.record(record);
  const std::int64_t now = clock_.monotonic_ms();
  access_.record(record, now);
  denials_.record(record, now);
}

void RequestLog::malformed(int status, std::string_view) noexcept {
  metrics_.malformed(status);
}

void RequestLog::identity_missing(std::string_view dimension, std::string_view policy) noexcept {
  metrics_.identity_missing(dimension, policy);
}

void RequestLog::held(int change) noexcept {
  metrics_.held(change);
}

void RequestLog::tick(std::int64_t late_us) noexcept {
  metrics_.loop_lag(late_us);
  metrics_.busy(thread_cpu_us());
  const std::int64_t now = clock_.monotonic_ms();
  access_.tick(now);
  denials_.tick(now);
}

}  // namespace weir::app
