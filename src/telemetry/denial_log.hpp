// SPDX-License-Identifier: Apache-2.0
// One line per request that a limit refused, for one worker (spec OB-2). JSON, with exactly these fields:
// time, final_hit_layer, hit_layers, caller_id, user_id, api_path, limit_value, current_value, request_id,
// retry_after, client, method, status, weight. api_path is the matching template ("other" if only /**
// matches), retry_after in seconds (0: waiting does not help), weight the number of refusals that the line
// stands for (sampled_lines.hpp).
#pragma once

#include "telemetry/log_writers.hpp"
#include "telemetry/sampled_lines.hpp"

namespace weir::telemetry {

// Single-threaded.
class DenialLog {
 public:
  explicit DenialLog(LogWriters& writers) : writers_(writers), lines_(buffer_, &DenialLog::append) {}
  ~DenialLog() { flush(); }
  DenialLog(const DenialLog&) = delete;
  DenialLog& operator=(const DenialLog&) = delete;

  // 0: automatic. See SampledLines.
  void set_fraction(double fraction) noexcept { lines_.set_fraction(fraction); }

  // Does nothing unless record.final_hit_layer says that a layer refused.
  void record(const RequestRecord& record, std::int64_t now_ms);

  void tick(std::int64_t now_ms);
  void flush();

  static void append(std::string& out, const RequestRecord& record);

 private:
  LogWriters& writers_;
  LineBuffer buffer_;
  SampledLines lines_;
  std::uint64_t version_ = 0;
  std::int64_t now_ms_ = 0;
};

}  // namespace weir::telemetry
