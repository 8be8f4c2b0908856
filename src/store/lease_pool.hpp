// SPDX-License-Identifier: Apache-2.0
// What one process knows of the keys it asks a shared store for: how often each is asked for, which permits
// it holds, until when it is known to be over its limit. One pool per process, shared by all workers.
//
// Bounded: `max_keys` entries in groups of eight, each group under its own lock; in a full group the entry
// that was not used for longest leaves, first those that hold no permits (held ones lapse with it). All times
// are the local monotonic clock's milliseconds, unless they are named store's.
//
// Threads: every member may be called from all threads at once.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/hash.hpp"
#include "store/fleet_share.hpp"
#include "store/lease_rules.hpp"

namespace weir::store {

struct LeasePoolStats {
  std::atomic<std::uint64_t> leases{0};    // calls that brought permits
  std::atomic<std::uint64_t> granted{0};   // permits that they brought
  std::atomic<std::uint64_t> returned{0};  // permits given back unused
  std::atomic<std::uint64_t> lapsed{0};    // permits that nobody used and nobody got back
  std::atomic<std::uint64_t> debt{0};      // permits passed ahead of their lease (lease.debt)
};

// What the store is to be told of an entry that nobody asks for any more.
struct LeaseReturn {
  std::string key;
  limit::Terms terms;
  limit::Request request;
  limit::Lease lease;
};

// Whether the server that counts `key` is another one, or one that started anew, since the local moment
// `since_ms`, so that it may have lost what it counted before. Empty: never.
using Renewed = std::function<bool(std::string_view key, std::int64_t since_ms)>;

class LeasePool {
 public:
  // `fleet` knows how many share the counters; without it, or before it has heard, nothing is passed on
  // credit.
  explicit LeasePool(const LeaseOptions& options, std::shared_ptr<const FleetShare> fleet = nullptr);
  ~LeasePool();

  const LeaseOptions& options() const noexcept { return options_; }
  const LeasePoolStats& stats() const noexcept { return stats_; }
  Hash128 id_of(std::string_view key) const noexcept { return stable_hash128(key, seed_); }

  enum class Answer : std::uint8_t {
    ask,     // only the store knows
    ready,   // permits are at hand
    denied,  // known to be over its limit
  };
  struct Look {
    Answer answer = Answer::ask;
    bool calling = false;    // a lease call for it is under way
    bool returns = false;    // enough of it is to be given back with the next one
    limit::Verdict verdict;  // ready: before the permits are taken; ask: what was heard last, or full
  };
  // `arrival`: this is a request's first look, which counts for the rate.
  enum class Arrival : std::uint8_t { counted, seen };
  Look look(const Hash128& id, const limit::Charge& charge, std::int64_t now_ms, Arrival arrival);

  struct Taken {
    std::int64_t charged_at_ms = 0;  // store's clock: of which lease
    limit::Verdict verdict;          // after the charge
    bool low = false;                // the next lease should be fetched
    bool on_credit = false;          // of no lease: the one under way pays for it
    bool pending = false;            // not known to be used yet: use() or give_back() is to follow
  };
  enum class Use : std::uint8_t { now, pending };
  // Takes the charge's cost out of the permits at hand, or on credit; nullopt: neither is there.
  std::optional<Taken> take(const Hash128& id, const limit::Charge& charge, std::int64_t now_ms, Use use);
  // What was pending is used: the store is told so with the next call.
  void use(const Hash128& id, const Taken& taken, std::int64_t cost);
  // Undoes a take. Permits whose lease is over meanwhile lapse.
  void give_back(const Hash128& id, const Taken& taken, std::int64_t cost);

  // Gives permits back that were taken and not used after all, without knowing out of which lease: to the one
  // that is spent now, if as many were taken out of it. Else they lapse.
  void put_back(const Hash128& id, std::int64_t cost, std::int64_t now_ms);

  // Fills in what to ask the store for beside a request; false: nothing, because the key is cold or another
  // call for it is under way. After true, book() must follow. A server that is new since the last call is
  // told what was used then.
  bool plan(const Hash128& id, const limit::Charge& charge, std::int64_t now_ms, const Renewed& renewed,
            limit::Lease& lease);

  struct Times {
    std::int64_t sent_ms = 0;
    std::int64_t now_ms = 0;
  };
  struct Booked {
    std::int64_t ends_ms = 0;  // when the permits that it brought end; 0: it brought none
    std::int64_t debt = 0;     // permits passed on credit, which the store is to charge now
  };
  // Takes note of the store's answer to a charge, with or without a lease. A refusal is not believed while a
  // lease call is under way: that may have taken the last permits, and has the last word. What a server says
  // that became new while it was asked, and knows less than what was seen, is not taken for what is used: the
  // next call tells it.
  Booked book(const Hash128& id, const limit::Charge& answered, const Times& times, const Renewed& renewed);

  // Permits came back: what was known of a refusal is over.
  void doubt_denial(const Hash128& id);

  // A look at leases that should be over: what is to be given back now, or when to look again (0: never).
  struct Over {
    std::optional<LeaseReturn> give_back;
    std::int64_t look_again_ms = 0;
  };
  Over over(const Hash128& id, std::int64_t now_ms);

  // No more leases from here on; all permits that are held, as returns. For the drain.
  std::vector<LeaseReturn> close();

  // The store's clock now, as far as answers tell; `now_ms` until there was one.
  std::int64_t store_now_ms(std::int64_t now_ms) const noexcept {
    return now_ms + offset_ms_.load(std::memory_order_relaxed);
  }
  // Permits at hand now, for the status page; looks at every entry.
  std::int64_t held();

 private:
  static constexpr std::size_t kWays = 8;
  struct Entry;
  struct Group;

  Group& group_of(const Hash128& id) const noexcept;
  Entry* find(Group& group, const Hash128& id) const noexcept;
  Entry& find_or_make(Group& group, const Hash128& id, const limit::Charge& charge, std::int64_t now_ms);
  void retire(Entry& entry);
  void leave_unused(Entry& entry, const limit::Lease::Spent& back);
  void refresh(Entry& entry, std::int64_t now_ms);
  bool has_credit(const Entry& entry, std::int64_t cost, std::int64_t now_ms) const;
  void lapse(std::int64_t permits);
  // All that an entry holds or would give back lapses.
  void drop(Entry& entry);
  void count_back(const limit::Lease& lease, limit::Answered answered);

  LeaseOptions options_;
  std::shared_ptr<const FleetShare> fleet_;
  std::uint64_t seed_;
  std::size_t groups_count_;
  std::unique_ptr<Group[]> groups_;
  std::atomic<std::int64_t> offset_ms_{0};
  std::atomic<bool> closed_{false};
  LeasePoolStats stats_;
};

}  // namespace weir::store
