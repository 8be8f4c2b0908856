// SPDX-License-Identifier: Apache-2.0
// Where access and denial lines go: shared by all workers, changed by a reload.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "telemetry/line_writer.hpp"
#include "weir/base/result.hpp"
#include "weir/telemetry/samples.hpp"

namespace weir::telemetry {

// Thread-safe. Logs on one target share one writer, so that their lines never mix within a line. Workers
// notice a change by version() and take the new writer with their next line; the old one is closed, written
// out, when the last worker has let go of it.
class LogWriters {
 public:
  // Each "stdout", "stderr", "off", "syslog" (syslog_socket.hpp) or a file path. On an error nothing changes.
  Result<void> configure(std::string_view access, std::string_view denials);

  // For log rotation by SIGUSR1, and with every SIGHUP.
  void reopen() noexcept;

  std::shared_ptr<LineWriter> access() const;   // nullptr: off
  std::shared_ptr<LineWriter> denials() const;  // nullptr: off
  std::uint64_t version() const noexcept { return version_.load(std::memory_order_acquire); }

  // Since the start, all targets there ever were.
  std::uint64_t lines_dropped() const;
  // The same as a metric, for Metrics::add_source().
  std::vector<SampleFamily> families() const;

 private:
  std::shared_ptr<LineWriter> existing(std::string_view target) const;

  mutable std::mutex mutex_;
  std::shared_ptr<LineWriter> access_;
  std::shared_ptr<LineWriter> denials_;
  std::uint64_t dropped_before_ = 0;
  std::atomic<std::uint64_t> version_{0};
};

}  // namespace weir::telemetry
