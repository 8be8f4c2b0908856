// SPDX-License-Identifier: Apache-2.0
// Where the frames of coroutines come from. Every file is compiled with this header in front
// (CMakeLists.txt), so that all parts of the program agree on it.
//
// Asio 1.81 keeps freed frames in a few slots per thread, which it searches one by one: with 64 requests
// under way most frames came from the heap. Here each thread keeps them in lists by size, taken and given
// back in a few instructions whatever their number. A frame that is freed on another thread than the one that
// made it stays there. Bounded: kKeptBytes per size and thread, sizes up to kLargest; what is beyond goes to
// the heap. Under a sanitizer each frame is an allocation of its own, so that use after its end is seen.
#pragma once

#include <boost/asio/detail/thread_info_base.hpp>
#include <cstddef>
#include <new>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define WEIR_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define WEIR_SANITIZED 1
#endif
#endif

namespace weir {

#ifdef WEIR_SANITIZED
inline constexpr bool kKeepsFrames = false;
#else
inline constexpr bool kKeepsFrames = true;
#endif

// Blocks of one thread, by size.
class FramePool {
 public:
  static constexpr std::size_t kStep = 64;
  static constexpr std::size_t kLargest = 2048;
  static constexpr std::size_t kKeptBytes = 512 * 1024;

  constexpr FramePool() = default;
  FramePool(const FramePool&) = delete;
  FramePool& operator=(const FramePool&) = delete;
  ~FramePool() {
    for (List& list : lists_) {
      for (Block* block = list.first; block != nullptr;) {
        Block* const next = block->next;
        ::operator delete(block);
        block = next;
      }
      list = {nullptr, kKeptBytes};  // a frame that outlives this is not kept any more
    }
  }

  // `size` is not 0.
  void* take(std::size_t size) {
    const std::size_t place = (size - 1) / kStep;
    if (!kKeepsFrames || place >= kPlaces || lists_[place].first == nullptr) {
      return ::operator new((place + 1) * kStep);
    }
    List& list = lists_[place];
    Block* const block = list.first;
    list.first = block->next;
    --list.count;
    return block;
  }

  // What take() gave for the same size.
  void give_back(void* memory, std::size_t size) noexcept {
    const std::size_t place = (size - 1) / kStep;
    const bool kept =
        kKeepsFrames && place < kPlaces && lists_[place].count * (place + 1) * kStep < kKeptBytes;
    if (!kept) return ::operator delete(memory);
    List& list = lists_[place];
    list.first = ::new (memory) Block{list.first};
    ++list.count;
  }

  std::size_t kept_bytes() const noexcept {
    std::size_t bytes = 0;
    for (std::size_t place = 0; place < kPlaces; ++place) bytes += lists_[place].count * (place + 1) * kStep;
    return bytes;
  }

 private:
  static constexpr std::size_t kPlaces = kLargest / kStep;
  struct Block {
    Block* next;
  };
  struct List {
    Block* first = nullptr;
    std::size_t count = 0;
  };

  List lists_[kPlaces];
};

inline FramePool& frame_pool() noexcept {
  static thread_local FramePool pool;
  return pool;
}

}  // namespace weir

// The two functions through which an awaitable's frame comes and goes, for that purpose alone.
namespace boost::asio::detail {

template <>
inline void* thread_info_base::allocate<thread_info_base::awaitable_frame_tag>(awaitable_frame_tag,
                                                                               thread_info_base*,
                                                                               std::size_t size,
                                                                               std::size_t) {
  return weir::frame_pool().take(size);
}

template <>
inline void thread_info_base::deallocate<thread_info_base::awaitable_frame_tag>(awaitable_frame_tag,
                                                                                thread_info_base*,
                                                                                void* memory,
                                                                                std::size_t size) {
  weir::frame_pool().give_back(memory, size);
}

}  // namespace boost::asio::detail
