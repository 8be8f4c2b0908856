// SPDX-License-Identifier: Apache-2.0
#include "base/breaker.hpp"

#include <algorithm>

namespace weir {

Breaker::Breaker(Options options, std::uint64_t seed) noexcept : options_(options), random_(seed | 1U) {}

Breaker::Pass Breaker::admit(std::int64_t now_ms) noexcept {
  if (state_ == State::closed) return Pass::call;
  if (now_ms < until_ms_) return Pass::refused;
  state_ = State::half_open;
  until_ms_ = now_ms + options_.probe_ms;
  return Pass::probe;
}

bool Breaker::refuses(std::int64_t now_ms) const noexcept {
  return state_ != State::closed && now_ms < until_ms_;
}

void Breaker::succeeded(Pass pass, std::int64_t now_ms) noexcept {
  if (pass == Pass::probe) {
    state_ = State::closed;
    pauses_ = 0;
    in_a_row_ = calls_ = failures_ = 0;
    window_began_ms_ = now_ms;
    return;
  }
  if (state_ != State::closed) return;
  in_a_row_ = 0;
  count(false, now_ms);
}

void Breaker::failed(Pass pass, std::int64_t now_ms) noexcept {
  if (pass == Pass::probe) {
    if (state_ == State::half_open) open(now_ms);
    return;
  }
  if (state_ != State::closed) return;
  ++in_a_row_;
  count(true, now_ms);
  const bool half = calls_ >= options_.min_calls && failures_ * 2 >= calls_;
  if (in_a_row_ >= options_.consecutive || half) open(now_ms);
}

void Breaker::hurry(std::int64_t now_ms) noexcept {
  if (state_ == State::open) until_ms_ = std::min(until_ms_, now_ms);
}

void Breaker::count(bool failure, std::int64_t now_ms) noexcept {
  if (now_ms - window_began_ms_ >= options_.window_ms) {
    window_began_ms_ = now_ms;
    calls_ = failures_ = 0;
  }
  ++calls_;
  if (failure) ++failures_;
}

void Breaker::open(std::int64_t now_ms) noexcept {
  state_ = State::open;
  const std::int64_t pause = std::min(options_.pause_max_ms, options_.pause_min_ms << std::min(pauses_, 20U));
  if (pauses_ < 20) ++pauses_;
  // xorshift64: jitter needs no better one.
  random_ ^= random_ << 13;
  random_ ^= random_ >> 7;
  random_ ^= random_ << 17;
  const auto half = static_cast<std::uint64_t>(std::max<std::int64_t>(pause / 2, 1));
  until_ms_ = now_ms + pause - static_cast<std::int64_t>(random_ % half);
}

}  // namespace weir
