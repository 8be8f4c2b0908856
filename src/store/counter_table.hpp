// SPDX-License-Identifier: Apache-2.0
// A fixed, set-associative table of counters, shared by all threads.
//
// A bucket is 1 KiB of one page: a cache line of 15 tags (32 bits of the hash; 0 = free) and a lock for those
// who change them, then its 15 slots of a cache line each. A key goes to its home slot if that is free, and
// is looked for there first: most need no tags, which are one more line to fetch. Look-ups read tags and
// hashes without a lock, so what they return is a guess: lock the slot, then ask `holds`. A slot's lock
// guards its state; who waits for several takes them in the order of their addresses. Nobody waits for a
// bucket's lock while holding a slot's.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/hash.hpp"
#include "weir/limit/algorithm.hpp"

namespace weir::store {

struct alignas(64) Slot {
  std::atomic<std::uint64_t> high;  // identity: the seeded 128-bit hash of the counter key
  std::atomic<std::uint64_t> low;
  limit::CounterState state;             // guarded by the lock
  std::atomic<std::uint32_t> last_used;  // table ticks, see CounterTable::touch
  std::atomic<std::uint32_t> word;       // bit 0 lock; bits 1-7 pins; bits 8-31 number of its terms

  bool try_lock() noexcept { return (word.fetch_or(1, std::memory_order_acquire) & 1) == 0; }
  void lock() noexcept {
    if (!try_lock()) wait_and_lock();
  }
  // While the lock is held nobody else changes the word's other bits.
  void unlock() noexcept { word.store(bits() & ~1U, std::memory_order_release); }

  bool holds(const Hash128& key) const noexcept {
    return high.load(std::memory_order_relaxed) == key.high && low.load(std::memory_order_relaxed) == key.low;
  }

  // The rest requires the lock. A pinned slot is not given to another key.
  bool pinned() const noexcept { return (bits() & kPins) != 0; }
  bool pin() noexcept;
  void unpin() noexcept { set(bits() - kPin); }
  std::uint32_t terms() const noexcept { return bits() >> 8; }
  void set_terms(std::uint32_t number) noexcept { set((bits() & 0xFF) | number << 8); }

 private:
  static constexpr std::uint32_t kPin = 2, kPins = 0xFE;
  void wait_and_lock() noexcept;
  std::uint32_t bits() const noexcept { return word.load(std::memory_order_relaxed); }
  void set(std::uint32_t bits) noexcept { word.store(bits, std::memory_order_relaxed); }
};
static_assert(sizeof(Slot) == 64);

// Says what the table may drop. Called with the slot locked.
class Evictor {
 public:
  enum class Worth : std::uint8_t {
    nothing,  // equals a counter that does not exist
    debt,     // can be dropped once its debt is noted down
    keep,     // must stay
  };
  virtual ~Evictor() = default;
  virtual Worth worth(const Slot& slot) = 0;
  virtual void note_down(const Slot& slot) = 0;
};

class CounterTable {
 public:
  // Has ceil(max_keys / 10) buckets, half as many slots again as keys: then one key in a hundred finds its
  // bucket full before the table is. Memory is taken from the system as it is touched. Once two keys live in
  // each page of 4 KiB, nearly all of it is, and the table asks for huge pages: where the system grants them
  // (transparent_hugepage `madvise` or `always`), khugepaged brings them within minutes, and a key that was
  // not used of late costs three quarters of the time, since the processor finds its page.
  explicit CounterTable(std::size_t max_keys);
  ~CounterTable();
  CounterTable(const CounterTable&) = delete;
  CounterTable& operator=(const CounterTable&) = delete;

  // Fetches the key's home slot, and its tags if they will be needed.
  void prefetch(const Hash128& key) const noexcept;
  // The key's home slot, or the one whose tag fits, fetched ahead, or nullptr. May be another key's.
  Slot* guess(const Hash128& key) const noexcept;
  // The slot that held the key when looked at, or nullptr.
  Slot* find(const Hash128& key) const noexcept;

  struct Place {
    Slot* slot = nullptr;  // nullptr: every slot of the bucket is in use or must stay
    bool fresh = false;    // the key was not there: state is empty, terms are to be set
    bool pinned = false;   // the caller unpins
  };
  // The key's slot, locked, made if it is not there. Requires that the caller holds no slot's lock.
  Place find_or_make(const Hash128& key, Evictor& evictor) noexcept;

  // Last use in steps of 64 ms, which order the slots of a bucket.
  static std::uint32_t tick(std::int64_t now_ms) noexcept { return static_cast<std::uint32_t>(now_ms >> 6); }
  static void touch(Slot& slot, std::uint32_t tick) noexcept {
    if (slot.last_used.load(std::memory_order_relaxed) != tick)
      slot.last_used.store(tick, std::memory_order_relaxed);
  }

  std::uint64_t evictions() const noexcept { return evictions_.load(std::memory_order_relaxed); }
  std::size_t live() const noexcept { return live_.load(std::memory_order_relaxed); }
  std::size_t memory_bytes() const noexcept;

 private:
  static constexpr std::size_t kWays = 15;
  struct alignas(64) Bucket {
    std::array<std::atomic<std::uint32_t>, kWays> tag;
    std::atomic<std::uint32_t> lock;
    std::array<Slot, kWays> slot;
  };
  static_assert(sizeof(Bucket) == 1024);
  struct Unmap {
    std::size_t bytes;
    void operator()(void* memory) const noexcept;
  };

  std::size_t bucket_of(const Hash128& key) const noexcept;
  void count_key() noexcept;
  Slot* slots_of(std::size_t bucket) const noexcept { return buckets_[bucket].slot.data(); }
  // The high half's upper bits choose the bucket, its lower ones the slot.
  static std::size_t home_of(const Hash128& key) noexcept { return (key.high & 0xFFFFFFFF) * kWays >> 32; }
  Place claim(std::size_t bucket, const Hash128& key, Evictor& evictor) noexcept;
  Slot* victim(std::size_t bucket, const Hash128& key, Evictor& evictor) noexcept;

  std::size_t count_;
  std::unique_ptr<void, Unmap> memory_;
  Bucket* buckets_;
  std::atomic<std::uint64_t> evictions_{0};
  std::atomic<std::size_t> live_{0};
};

}  // namespace weir::store
