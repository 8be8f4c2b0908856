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

  // One load of the configuration. notes: errors of a refused one, keys that need a restart of an applied
  // one.
  struct Load {
    enum class Result : std::uint8_t { applied, unchanged, rejected };
    std::int64_t wall_ms = 0;
    Result result = Result::applied;
    std::string version;  // in force afterwards
    std::vector<std::string> notes;
  };
  static constexpr std::size_t kKeptLoads = 20;
  static constexpr std::size_t kKeptNotes = 8;  // of each load

  Facts facts() const {
    const std::lock_guard lock(mutex_);
    return facts_;
  }

  // The last kKeptLoads, newest first.
  std::vector<Load> loads() const {
    const std::lock_guard lock(mutex_);
    return loads_;
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
    remember(Load::Result::applied, facts_.needs_restart, wall_ms);
  }
  // The files are again what is in force.
  void unchanged(std::int64_t wall_ms) {
    const std::lock_guard lock(mutex_);
    facts_.rejected_wall_ms = 0;
    facts_.last_errors.clear();
    remember(Load::Result::unchanged, {}, wall_ms);
  }
  void rejected(std::vector<std::string> errors, std::int64_t wall_ms) {
    const std::lock_guard lock(mutex_);
    facts_.rejected_wall_ms = wall_ms;
    facts_.last_errors = std::move(errors);
    ++rejected_;
    remember(Load::Result::rejected, facts_.last_errors, wall_ms);
  }

  std::uint64_t applied_count() const noexcept { return applied_.load(std::memory_order_relaxed); }
  std::uint64_t rejected_count() const noexcept { return rejected_.load(std::memory_order_relaxed); }

  std::atomic<bool> ready{false};
  std::atomic<bool> draining{false};

 private:
  void remember(Load::Result result, std::vector<std::string> notes, std::int64_t wall_ms) {
    if (notes.size() > kKeptNotes) notes.resize(kKeptNotes);
    const std::string version = facts_.runtime == nullptr ? "" : facts_.runtime->version;
    loads_.insert(loads_.begin(), {wall_ms, result, version, std::move(notes)});
    if (loads_.size() > kKeptLoads) loads_.pop_back();
  }

  mutable std::mutex mutex_;
  Facts facts_;
  std::vector<Load> loads_;
  std::atomic<std::uint64_t> applied_{0};
  std::atomic<std::uint64_t> rejected_{0};
};

}  // namespace weir::app
