// SPDX-License-Identifier: Apache-2.0
#include "net/timer_wheel.hpp"

#include <algorithm>

namespace weir::net {

void Timer::arm(std::int64_t deadline_ms) noexcept {
  if (deadline_ms == 0) return rest();
  deadline_ms_ = deadline_ms;
  // Filed at or before the new deadline: it is looked at in time and filed again then.
  if (slot_ != nullptr && filed_tick_ <= deadline_ms / TimerWheel::kTickMs + 1) return;
  if (slot_ != nullptr) wheel_.unfile(*this);
  wheel_.file(*this);
}

void Timer::disarm() noexcept {
  deadline_ms_ = 0;
  if (slot_ != nullptr) wheel_.unfile(*this);
}

TimerWheel::~TimerWheel() {
  for (Timer*& head : slots_) {
    while (head != nullptr) unfile(*head);
  }
}

void TimerWheel::file(Timer& timer) noexcept {
  // The tick after the one the deadline lies in, so that nothing fires early.
  const std::int64_t due = std::max(timer.deadline_ms_ / kTickMs + 1, tick_ + 1);
  timer.filed_tick_ = std::min(due, tick_ + static_cast<std::int64_t>(kSlots) - 1);
  Timer*& head = slots_[static_cast<std::size_t>(timer.filed_tick_) % kSlots];
  timer.next_ = head;
  if (head != nullptr) head->slot_ = &timer.next_;
  timer.slot_ = &head;
  head = &timer;
  ++filed_;
}

void TimerWheel::unfile(Timer& timer) noexcept {
  *timer.slot_ = timer.next_;
  if (timer.next_ != nullptr) timer.next_->slot_ = timer.slot_;
  timer.next_ = nullptr;
  timer.slot_ = nullptr;
  --filed_;
}

void TimerWheel::advance(std::int64_t now_ms) {
  const std::int64_t target = now_ms / kTickMs;
  // After a long sleep one turn looks at every timer; more turns would find nothing new.
  tick_ = std::max(tick_, target - static_cast<std::int64_t>(kSlots));
  while (tick_ < target) {
    ++tick_;
    // Move the slot's list aside: what fires may file into this very slot again.
    Timer*& head = slots_[static_cast<std::size_t>(tick_) % kSlots];
    Timer* due = head;
    head = nullptr;
    if (due != nullptr) due->slot_ = &due;
    while (due != nullptr) look_at(*due, now_ms);
  }
}

void TimerWheel::look_at(Timer& timer, std::int64_t now_ms) {
  unfile(timer);
  if (timer.deadline_ms_ == 0) return;
  if (timer.deadline_ms_ > now_ms) return file(timer);
  timer.deadline_ms_ = 0;
  timer.call_(timer.context_);
}

}  // namespace weir::net
