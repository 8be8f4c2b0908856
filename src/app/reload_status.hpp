// SPDX-License-Identifier: Apache-2.0
// Which configuration is in force and how the last reload went, for the admin port and the metrics.
// Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "pipeline/runtime.hpp"

namespace weir::app {

class ReloadStatus {
 public:
  struct Facts {
    std::shared_ptr<const pipeline::Runtime> runtime;
    std::uint64_t generation = 0;  // counts configurations that came into force
    std::int64_t applied_wall_ms = 0;
    std::int64_t rejected_wall_ms = 0;       // 0: the last load was good
    std::vector<std::string> last_errors;    // of the load that was refused last, if it is the latest
    std::vector<std::string> needs_restart;  // changed keys that only a restart applies
  };

  Facts facts() const {
    const std::lock_guard lock(mutex_);
    return facts_;
  }

  void applied(std::shared_ptr<const pipeline::Runtime> runtime, std::vector<std::string> needs_restart,
               std::int64_t wall_ms) {
    const std::lock_guard lock(mutex_);
    facts_.runtime = std::move(runtime);
    ++facts_.generation;
    facts_.applied_wall_ms = wall_ms;
    facts_.rejected_wall_ms = 0;
    facts_.last_errors.clear();
    facts_.needs_restart = std::move(needs_restart);
    ++applied_;
  }
  // The files are again what is in force.
  void unchanged() {
    const std::lock_guard lock(mutex_);
    facts_.rejected_wall_ms = 0;
    facts_.last_errors.clear();
  }
  void rejected(std::vector<std::string> errors, std::int64_t wall_ms) {
    const std::lock_guard lock(mutex_);
    facts_.rejected_wall_ms = wall_ms;
    facts_.last_errors = std::move(errors);
    ++rejected_;
  }

  std::uint64_t applied_count() const noexcept { return applied_.load(std::memory_order_relaxed); }
  std::uint64_t rejected_count() const noexcept { return rejected_.load(std::memory_order_relaxed); }

  std::atomic<bool> ready{false};
  std::atomic<bool> draining{false};

 private:
  mutable std::mutex mutex_;
  Facts facts_;
  std::atomic<std::uint64_t> applied_{0};
  std::atomic<std::uint64_t> rejected_{0};
};

}  // namespace weir::app
