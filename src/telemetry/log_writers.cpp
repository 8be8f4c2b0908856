// SPDX-License-Identifier: Apache-2.0
#include "telemetry/log_writers.hpp"

#include <utility>

#include "telemetry/families.hpp"

namespace weir::telemetry {
namespace {

constexpr std::string_view kOff = "off";

std::uint64_t dropped_of(const std::shared_ptr<LineWriter>& writer) {
  return writer == nullptr ? 0 : writer->lines_dropped();
}

}  // namespace

std::shared_ptr<LineWriter> LogWriters::existing(std::string_view target) const {
  if (access_ != nullptr && access_->target() == target) return access_;
  if (denials_ != nullptr && denials_->target() == target) return denials_;
  return nullptr;
}

Result<void> LogWriters::configure(std::string_view access, std::string_view denials) {
  const std::lock_guard lock(mutex_);
  const auto writer_of = [this](std::string_view target) -> Result<std::shared_ptr<LineWriter>> {
    if (target == kOff) return std::shared_ptr<LineWriter>();
    if (auto writer = existing(target)) return writer;
    WEIR_TRY(std::shared_ptr<LineWriter> writer, LineWriter::open(target));
    return writer;
  };
  WEIR_TRY(auto next_access, writer_of(access));
  auto next_denials = next_access;
  if (denials != access) {
    WEIR_TRY(next_denials, writer_of(denials));
  }
  if (next_access == access_ && next_denials == denials_) return {};

  if (access_ != next_access && access_ != next_denials) dropped_before_ += dropped_of(access_);
  const bool gone = denials_ != access_ && denials_ != next_access && denials_ != next_denials;
  if (gone) dropped_before_ += dropped_of(denials_);
  access_ = std::move(next_access);
  denials_ = std::move(next_denials);
  version_.fetch_add(1, std::memory_order_release);
  return {};
}

void LogWriters::reopen() noexcept {
  const std::lock_guard lock(mutex_);
  if (access_ != nullptr) access_->reopen();
  if (denials_ != nullptr) denials_->reopen();
}

std::shared_ptr<LineWriter> LogWriters::access() const {
  const std::lock_guard lock(mutex_);
  return access_;
}

std::shared_ptr<LineWriter> LogWriters::denials() const {
  const std::lock_guard lock(mutex_);
  return denials_;
}

std::uint64_t LogWriters::lines_dropped() const {
  const std::lock_guard lock(mutex_);
  const std::uint64_t denials = denials_ == access_ ? 0 : dropped_of(denials_);
  return dropped_before_ + dropped_of(access_) + denials;
}

std::vector<SampleFamily> LogWriters::families() const {
  return {counter_family("weir_request_log_lines_dropped_total",
                         "Access and denial lines lost because their sink was too slow or failed",
                         static_cast<double>(lines_dropped()))};
}

}  // namespace weir::telemetry
