// SPDX-License-Identifier: Apache-2.0
// Runs a log through two configurations at once, in the log's own time.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <queue>
#include <vector>

#include "app/simulate/comparison.hpp"
#include "app/simulate/log_reader.hpp"
#include "app/simulate/replay.hpp"

namespace weir::app {

// A request holds its concurrency slots, and is settled, for as long as the log says that it took; one that
// the log shows refused and a replay allows, for as long as allowed ones take on average. One that a policy
// holds back (on_exceed: delay) is judged again when its wait is over, as in the gateway.
class Rehearsal {
 public:
  Rehearsal(std::shared_ptr<const pipeline::Runtime> in_force,
            std::shared_ptr<const pipeline::Runtime> renewed, std::size_t max_keys);

  // To the end of the log. `progress` is called now and then.
  void run(LogReader& log, const std::function<void()>& progress);

  const Comparison& comparison() const noexcept { return comparison_; }
  const Replay& replay(Side side) const noexcept { return *replays_[side]; }

 private:
  // One request on its way through both. Sampled lines stand for several, which share what was logged.
  struct Case {
    std::shared_ptr<LoggedRequest> request;
    std::int64_t cost = 0;  // 0: each configuration's own
    Verdicts verdicts;
    std::array<std::int64_t, 2> held_ms{};
    int open = 2;
  };
  struct Event {
    std::int64_t at_ms = 0;
    std::uint64_t number = 0;
    Side side = in_force;
    std::shared_ptr<Case> held;               // to be judged again; else:
    std::shared_ptr<LoggedRequest> request;   // that runs, until
    std::int64_t end_ms = 0;                  // and
    std::unique_ptr<limit::ChargeSet> holds;  // what it holds
  };
  static bool later(const Event& a, const Event& b) noexcept {
    return a.at_ms != b.at_ms ? a.at_ms > b.at_ms : a.number > b.number;
  }

  void arrive(const std::shared_ptr<LoggedRequest>& request);
  void judge(const std::shared_ptr<Case>& one, Side side);
  void conclude(Case& one, Side side, const Replay::Judged& judged);
  void schedule(Event event);
  void run_until(std::int64_t time_ms);
  void fire(Event event);
  std::int64_t duration_of(const LoggedRequest& request) const noexcept;

  ReplayClock clock_;
  std::array<std::unique_ptr<Replay>, 2> replays_;
  Comparison comparison_;
  std::vector<Event> events_;  // a heap by later()
  std::uint64_t event_number_ = 0;
  std::int64_t allowed_ms_ = 0;  // durations of requests the log shows allowed
  std::int64_t allowed_ = 0;
};

}  // namespace weir::app
