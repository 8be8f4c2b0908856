// SPDX-License-Identifier: Apache-2.0
// Who sends most and who is refused most (spec OB-3): callers, users and APIs, in bounded memory.
// Times are wall milliseconds; what they show are the minute that runs and the one before it.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/string_map.hpp"
#include "weir/telemetry/records.hpp"

namespace weir::telemetry {

// The heaviest names of a stream. Exact while there are at most kRoom of them. Beyond, the lighter half is
// dropped and what a new name might have had before is given to it as `error`: a count is never too low, and
// too high by at most its error. A name with more than 1 in kKept of all counts is always there.
class HeavyNames {
 public:
  static constexpr std::size_t kKept = 256;
  static constexpr std::size_t kRoom = 2 * kKept;
  static constexpr std::size_t kNameBytes = 256;  // longer names are kept by their start and a hash

  struct Weight {
    std::uint64_t count = 0;
    std::uint64_t error = 0;
  };

  // Constant time on average.
  void add(std::string_view name, std::uint64_t weight = 1);
  void clear();
  const StringMap<Weight>& names() const noexcept { return names_; }

 private:
  void drop_lighter_half();

  StringMap<Weight> names_;
  std::uint64_t floor_ = 0;  // the most that a name which is not there may have had
};

enum class RankedBy : std::uint8_t { requests, refusals };

// Stands between layer and caller in the name of a refused caller; no layer's name has it. The layer comes
// first, because a long caller's name is cut at its end.
inline constexpr char kLayerEnd = '\n';

struct Ranked {
  std::string name;
  std::uint64_t count = 0;
  std::uint64_t error = 0;
};

// One worker's part. Counts the minute that runs and the one before it. The first thousand requests of a
// second are all counted; beyond, one in sixteen, drawn by chance, counts sixteenfold: ranking costs little
// when there is most to rank.
class WorkerRanking {
 public:
  static constexpr std::int64_t kMinuteMs = 60'000;

  // The worker's thread. Skips a record rather than wait for a reader.
  void record(const RequestRecord& record, std::int64_t now_ms) noexcept;

  // Any thread: adds this worker's names of one kind ("caller", "user", "api") to `sums`. Minutes that are
  // over at `now_ms` add nothing, so that a ranking empties when traffic ends.
  void add_to(StringMap<HeavyNames::Weight>& sums, std::string_view kind, RankedBy by,
              std::int64_t now_ms) const;
  // The same for callers by the layer that refused them, named "layer", kLayerEnd, "caller".
  void add_refused(StringMap<HeavyNames::Weight>& sums, std::int64_t now_ms) const;

 private:
  static constexpr std::array<std::string_view, 3> kKinds{"caller", "user", "api"};
  struct Minute {
    std::array<std::array<HeavyNames, 2>, kKinds.size()> names;  // by kind, by RankedBy
    HeavyNames refused;                                          // "layer", kLayerEnd, "caller"
  };

  std::uint64_t weight_of_next(std::int64_t now_ms) noexcept;  // 0: not counted
  void start_minute(std::int64_t minute);
  void note_refused(const RequestRecord& record, std::uint64_t weight);
  bool is_over(std::size_t minute_index, std::int64_t now_ms) const noexcept;

  std::int64_t second_ = -1;
  std::uint64_t seen_ = 0;  // this second
  std::uint64_t random_ = 0x9e3779b97f4a7c15;
  std::string refused_name_;  // kept for its room
  mutable std::mutex mutex_;
  std::array<Minute, 2> minutes_;
  std::size_t running_ = 0;
  std::int64_t minute_ = -1;
};

using Rankings = std::vector<const WorkerRanking*>;

// The heaviest of all workers together, at most `most`, heaviest first.
std::vector<Ranked> ranking(const Rankings& workers, std::string_view kind, RankedBy by, std::size_t most,
                            std::int64_t now_ms);

// {"window_s":[60,120],"caller":{"requests":[{"name":"a","count":5,"error":0},...],"refusals":[...]},...,
// "refused":[{"layer":"user","name":"a","count":5,"error":0},...]}: what GET /top shows, a hundred names of
// each at most. refused: callers by the layer that refused them.
std::string ranking_json(const Rankings& workers, std::int64_t now_ms);

}  // namespace weir::telemetry
