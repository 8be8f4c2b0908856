// SPDX-License-Identifier: Apache-2.0
// Where the pipeline reports what happened. The application joins it to metrics and logs.
#pragma once

#include <string_view>

#include "weir/telemetry/records.hpp"

namespace weir::pipeline {

// One per worker; called on its thread. Never throws, never waits.
class RequestSink {
 public:
  virtual ~RequestSink() = default;

  // Exactly once per request that reached the handler, on every way out.
  virtual void finished(const telemetry::RequestRecord& record) noexcept = 0;

  // A request that was answered before it became an exchange (malformed, too large, too slow).
  virtual void malformed(int status, std::string_view reason) noexcept = 0;

  // A dimension was missing and `policy` ("anonymous", "ip", "reject") was applied.
  virtual void identity_missing(std::string_view dimension, std::string_view policy) noexcept = 0;

  // A credential was missing or not good; `reason` is a name of identity::AuthFault.
  virtual void authentication_failed(std::string_view reason) noexcept = 0;

  // Requests held back now (leaky_bucket, on_exceed: delay).
  virtual void held(int change) noexcept = 0;
};

}  // namespace weir::pipeline
