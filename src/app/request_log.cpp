// SPDX-License-Identifier: Apache-2.0
#include "app/request_log.hpp"

#include <array>
#include <ctime>

#include "telemetry/log.hpp"

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

void RequestLog::authentication_failed(std::string_view reason) noexcept {
  metrics_.authentication_failed(reason);
  // A client that has not logged in yet is no event; one line per other cause and interval.
  if (reason == "missing") return;
  std::array<char, 64> cause{"auth."};
  const std::size_t start = std::string_view(cause.data()).size();
  const std::size_t size = reason.copy(cause.data() + start, cause.size() - start);
  telemetry::log_limited(telemetry::LogLevel::warn, {cause.data(), start + size},
                         "a credential was not accepted");
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
