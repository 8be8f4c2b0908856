// SPDX-License-Identifier: Apache-2.0
// The handler of one coroutine that waits, kept in place, so that waiting allocates nothing. Resuming runs
// the coroutine at once, on the caller's stack: resume only from the event loop's own calls (socket events,
// timers, posted handlers) or from a coroutine that is about to wait or end itself. One thread only.
#pragma once

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

namespace weir::net {

// Values: what the coroutine is resumed with.
template <class... Values>
class Parked {
 public:
  Parked() = default;
  ~Parked() { drop(); }
  Parked(const Parked&) = delete;
  Parked& operator=(const Parked&) = delete;

  template <class Handler>
  void park(Handler&& handler) {
    using Stored = std::decay_t<Handler>;
    static_assert(sizeof(Stored) <= kHandlerBytes);
    ::new (static_cast<void*>(storage_)) Stored(std::forward<Handler>(handler));
    resume_ = [](void* storage, Values... values) { take<Stored>(storage)(values...); };
    drop_ = [](void* storage) { take<Stored>(storage); };
  }
  bool waits() const noexcept { return resume_ != nullptr; }
  // Resumes the coroutine, if one waits. This may be gone when it returns.
  void resume(Values... values) {
    if (resume_ != nullptr) std::exchange(resume_, nullptr)(storage_, values...);
  }
  // Forgets the coroutine, if one waits: it ends where it stands. This may be gone when it returns.
  void drop() {
    if (std::exchange(resume_, nullptr) != nullptr) drop_(storage_);
  }

 private:
  // An awaitable's handler is one pointer wide.
  static constexpr std::size_t kHandlerBytes = 2 * sizeof(void*);

  // Out of its place first: it may own the frame in which that place is.
  template <class Stored>
  static Stored take(void* storage) {
    auto* const stored = static_cast<Stored*>(storage);
    Stored taken(std::move(*stored));
    stored->~Stored();
    return taken;
  }

  alignas(std::max_align_t) std::byte storage_[kHandlerBytes];
  void (*resume_)(void* storage, Values... values) = nullptr;
  void (*drop_)(void* storage) = nullptr;
};

}  // namespace weir::net
