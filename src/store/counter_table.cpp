// SPDX-License-Identifier: Apache-2.0
#include "store/counter_table.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <mutex>
#include <new>
#include <thread>

namespace weir::store {
namespace {

void relax(int round) noexcept {
  if (round < 64)
    __builtin_ia32_pause();
  else
    std::this_thread::yield();
}

class SpinGuard {
 public:
  explicit SpinGuard(std::atomic<std::uint32_t>& lock) noexcept : lock_(lock) {
    for (int round = 0; lock_.exchange(1, std::memory_order_acquire) != 0; ++round) relax(round);
  }
  ~SpinGuard() { lock_.store(0, std::memory_order_release); }
  SpinGuard(const SpinGuard&) = delete;
  SpinGuard& operator=(const SpinGuard&) = delete;

 private:
  std::atomic<std::uint32_t>& lock_;
};

std::uint32_t tag_of(const Hash128& key) noexcept {
  const auto tag = static_cast<std::uint32_t>(key.low);
  return tag == 0 ? 1 : tag;
}

void* map_zeroed(std::size_t bytes) {
  void* memory =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  return memory;
}

}  // namespace

void Slot::wait_and_lock() noexcept {
  int round = 0;
  do {
    while ((bits() & 1) != 0) relax(round++);
  } while (!try_lock());
}

bool Slot::pin() noexcept {
  if ((bits() & kPins) == kPins) return false;
  set(bits() + kPin);
  return true;
}

// All-zero bytes are free buckets and empty slots, so fresh pages need no construction and cost nothing until
// they are used.
CounterTable::CounterTable(std::size_t max_keys)
    : count_(std::max<std::size_t>((max_keys + 9) / 10, 1)),
      memory_(map_zeroed(memory_bytes()), Unmap{memory_bytes()}),
      buckets_(static_cast<Bucket*>(memory_.get())) {}

CounterTable::~CounterTable() {
  for (std::size_t bucket = 0; bucket < count_; ++bucket) {
    for (std::size_t way = 0; way < kWays; ++way) {
      if (buckets_[bucket].tag[way].load(std::memory_order_relaxed) != 0)
        slots_of(bucket)[way].state.more.reset();
    }
  }
}

void CounterTable::Unmap::operator()(void* memory) const noexcept {
  munmap(memory, bytes);
}

std::size_t CounterTable::memory_bytes() const noexcept {
  return count_ * sizeof(Bucket);
}

std::size_t CounterTable::bucket_of(const Hash128& key) const noexcept {
  return static_cast<std::size_t>((key.high >> 32) * count_ >> 32);
}

void CounterTable::prefetch(const Hash128& key) const noexcept {
  const Bucket& bucket = buckets_[bucket_of(key)];
  __builtin_prefetch(&bucket.slot[home_of(key)], 1);
  // While buckets hold two keys or less, nearly all keys are at home, and their tags are not needed.
  if (live() > 2 * count_) __builtin_prefetch(&bucket);
}

Slot* CounterTable::guess(const Hash128& key) const noexcept {
  const std::size_t bucket = bucket_of(key);
  Slot* const home = slots_of(bucket) + home_of(key);
  if (home->holds(key)) return home;
  // All tags are looked at, without a branch: which one fits is what a processor cannot predict.
  const std::uint32_t tag = tag_of(key);
  std::uint32_t fits = 0;
  for (std::size_t way = 0; way < kWays; ++way) {
    const bool same = buckets_[bucket].tag[way].load(std::memory_order_relaxed) == tag;
    fits |= static_cast<std::uint32_t>(same) << way;
  }
  if (fits == 0) return nullptr;
  Slot* const slot = slots_of(bucket) + std::countr_zero(fits);
  __builtin_prefetch(slot, 1);
  return slot;
}

Slot* CounterTable::find(const Hash128& key) const noexcept {
  const std::size_t bucket = bucket_of(key);
  const std::uint32_t tag = tag_of(key);
  for (std::size_t way = 0; way < kWays; ++way) {
    Slot* const slot = slots_of(bucket) + way;
    if (buckets_[bucket].tag[way].load(std::memory_order_relaxed) == tag && slot->holds(key)) return slot;
  }
  return nullptr;
}

CounterTable::Place CounterTable::find_or_make(const Hash128& key, Evictor& evictor) noexcept {
  const std::size_t bucket = bucket_of(key);
  const SpinGuard guard(buckets_[bucket].lock);
  // Nobody else moves this bucket's keys now: what is found stays until the slot is locked.
  Place place{find(key), false, false};
  if (place.slot != nullptr)
    place.slot->lock();
  else
    place = claim(bucket, key, evictor);
  if (place.slot != nullptr) place.pinned = place.slot->pin();
  return place;
}

CounterTable::Place CounterTable::claim(std::size_t bucket, const Hash128& key, Evictor& evictor) noexcept {
  Slot* const slots = slots_of(bucket);
  Slot* slot = nullptr;
  const std::size_t home = home_of(key);
  for (std::size_t n = 0; n < kWays && slot == nullptr; ++n) {
    const std::size_t way = (home + n) % kWays;
    if (buckets_[bucket].tag[way].load(std::memory_order_relaxed) == 0) slot = slots + way;
  }
  if (slot != nullptr) {
    slot->lock();
    count_key();
  } else {
    slot = victim(bucket, key, evictor);
    if (slot == nullptr) return {};
    evictor.note_down(*slot);
    evictions_.fetch_add(1, std::memory_order_relaxed);
  }
  slot->state = {};
  slot->high.store(key.high, std::memory_order_relaxed);
  slot->low.store(key.low, std::memory_order_relaxed);
  buckets_[bucket].tag[static_cast<std::size_t>(slot - slots)].store(tag_of(key), std::memory_order_relaxed);
  return {slot, true, false};
}

// With two keys in a page, 1 - e^-2 = 86 % of the pages are in use. Live keys only grow: one thread sees the
// number passed. A system without huge pages refuses, which changes nothing.
void CounterTable::count_key() noexcept {
  constexpr std::size_t kPage = 4096;
  const std::size_t live = live_.fetch_add(1, std::memory_order_relaxed) + 1;
  if (live == 2 * memory_bytes() / kPage) madvise(memory_.get(), memory_bytes(), MADV_HUGEPAGE);
}

// A slot that is worth nothing, else the one unused for longest; locked. Starts at a place that differs by
// key, so that keys made at the same moment do not chase each other out of one slot.
Slot* CounterTable::victim(std::size_t bucket, const Hash128& key, Evictor& evictor) noexcept {
  Slot* const slots = slots_of(bucket);
  Slot* oldest = nullptr;
  const std::size_t first = home_of(key);
  for (std::size_t n = 0; n < kWays; ++n) __builtin_prefetch(slots + n, 1);
  for (std::size_t n = 0; n < kWays; ++n) {
    Slot* const slot = slots + (first + n) % kWays;
    if (!slot->try_lock()) continue;
    const Evictor::Worth worth = slot->pinned() ? Evictor::Worth::keep : evictor.worth(*slot);
    if (worth == Evictor::Worth::nothing) {
      if (oldest != nullptr) oldest->unlock();
      return slot;
    }
    const std::uint32_t used = slot->last_used.load(std::memory_order_relaxed);
    const bool older = oldest == nullptr || static_cast<std::int32_t>(
                                                used - oldest->last_used.load(std::memory_order_relaxed)) < 0;
    if (worth == Evictor::Worth::keep || !older) {
      slot->unlock();
      continue;
    }
    if (oldest != nullptr) oldest->unlock();
    oldest = slot;
  }
  return oldest;
}

}  // namespace weir::store
