// SPDX-License-Identifier: Apache-2.0
// What one worker tells about its requests: metrics, access log, denial log.
#pragma once

#include <chrono>

#include "pipeline/request_sink.hpp"
#include "telemetry/access_log.hpp"
#include "telemetry/denial_log.hpp"
#include "telemetry/metrics.hpp"
#include "weir/base/clock.hpp"

namespace weir::app {

class RequestLog final : public pipeline::RequestSink {
 public:
  RequestLog(telemetry::WorkerMetrics& metrics, telemetry::LogWriters& writers, const Clock& clock)
      : metrics_(metrics), access_(writers), denials_(writers), clock_(clock) {}

  void set_denial_sample(double fraction) noexcept {
    access_.set_refusal_fraction(fraction);
    denials_.set_fraction(fraction);
  }

  void finished(const telemetry::RequestRecord& record) noexcept override;
  void malformed(int status, std::string_view reason) noexcept override;
  void identity_missing(std::string_view dimension, std::string_view policy) noexcept override;
  void authentication_failed(std::string_view reason) noexcept override;
  void held(int change) noexcept override;

  // Hands over what is buffered, and notes how busy and how late this worker is. `late_us`: how late the
  // timer that calls this fired.
  void tick(std::int64_t late_us) noexcept;

 private:
  telemetry::WorkerMetrics& metrics_;
  telemetry::AccessLog access_;
  telemetry::DenialLog denials_;
  const Clock& clock_;
};

}  // namespace weir::app
