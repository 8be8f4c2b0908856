// SPDX-License-Identifier: Apache-2.0
#include "telemetry/sampled_lines.hpp"

#include <algorithm>
#include <cmath>

#include "telemetry/json_line.hpp"
#include "weir/base/append.hpp"

namespace weir::telemetry {
namespace {

constexpr std::int64_t kSecondMs = 1000;
constexpr std::uint64_t kLinesPerSecond = 100;
constexpr std::uint64_t kFreeLines = 50;
constexpr std::uint64_t kLinesPerDoubling = 8;
constexpr std::uint64_t kMaxDoublings = 30;

}  // namespace

void SampledLines::set_fraction(double fraction) noexcept {
  fixed_block_ = fraction > 0 ? static_cast<std::uint64_t>(std::max(1.0, std::round(1 / fraction))) : 0;
}

std::uint64_t SampledLines::random() noexcept {
  // xorshift64*: which line stands for its neighbours need not be secret.
  random_ ^= random_ >> 12;
  random_ ^= random_ << 25;
  random_ ^= random_ >> 27;
  return random_ * 0x2545f4914f6cdd1d;
}

SampledLines::Cause& SampledLines::cause_of(std::string_view name, std::int64_t now_ms) {
  for (std::size_t n = 0; n < used_; ++n) {
    if (causes_[n].name == name) return causes_[n];
  }
  if (used_ == kCauses) return causes_.back();
  Cause& cause = causes_[used_++];
  cause.name = name;
  cause.second_ms = now_ms;
  cause.block = std::max<std::uint64_t>(1, fixed_block_);
  return cause;
}

void SampledLines::start_second(Cause& cause, std::int64_t now_ms) const {
  const bool next = now_ms - cause.second_ms < 2 * kSecondMs;
  cause.base = next ? std::max<std::uint64_t>(1, cause.seen / kLinesPerSecond) : 1;
  cause.block = fixed_block_ != 0 ? fixed_block_ : cause.base;
  cause.seen = cause.written = 0;
  cause.second_ms = now_ms;
}

void SampledLines::add(std::string_view name, const RequestRecord& record, std::int64_t now_ms) {
  Cause& cause = cause_of(name, now_ms);
  if (now_ms - cause.second_ms >= kSecondMs) {
    write(cause, now_ms);
    start_second(cause, now_ms);
  }
  ++cause.seen;
  ++cause.pending;
  if (cause.pending == 1 || random() % cause.pending == 0) {
    cause.line.clear();
    format_(cause.line, record);
  }
  if (cause.pending >= cause.block) write(cause, now_ms);
}

void SampledLines::write(Cause& cause, std::int64_t now_ms) {
  if (cause.pending == 0) return;
  std::string& text = out_.text();
  append(text, cause.line, ",\"weight\":", cause.pending, "}\n");
  out_.line_done(now_ms);
  cause.pending = 0;
  ++cause.written;
  if (fixed_block_ != 0 || cause.written < kFreeLines) return;
  const std::uint64_t doublings = (cause.written - kFreeLines) / kLinesPerDoubling + 1;
  cause.block = cause.base << std::min(doublings, kMaxDoublings);
}

void SampledLines::tick(std::int64_t now_ms) {
  for (std::size_t n = 0; n < used_; ++n) {
    if (now_ms - causes_[n].second_ms < kSecondMs) continue;
    write(causes_[n], now_ms);
    start_second(causes_[n], now_ms);
  }
}

void SampledLines::flush(std::int64_t now_ms) {
  for (std::size_t n = 0; n < used_; ++n) write(causes_[n], now_ms);
}

}  // namespace weir::telemetry
