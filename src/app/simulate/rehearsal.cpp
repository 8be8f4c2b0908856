// SPDX-License-Identifier: Apache-2.0
#include "app/simulate/rehearsal.hpp"

#include <algorithm>

#include "pipeline/slot_keeper.hpp"

namespace weir::app {
namespace {

constexpr std::uint64_t kProgressEvery = 4096;

}  // namespace

Rehearsal::Rehearsal(std::shared_ptr<const pipeline::Runtime> in_force_,
                     std::shared_ptr<const pipeline::Runtime> renewed_, std::size_t max_keys)
    : replays_{std::make_unique<Replay>(std::move(in_force_), max_keys, clock_),
               std::make_unique<Replay>(std::move(renewed_), max_keys, clock_)} {}

void Rehearsal::run(LogReader& log, const std::function<void()>& progress) {
  std::uint64_t lines = 0;
  while (auto request = log.next()) {
    run_until(request->time_ms);
    clock_.advance(request->time_ms);
    arrive(std::move(request));
    if (++lines % kProgressEvery == 0) progress();
  }
  run_until(INT64_MAX);
  progress();
}

void Rehearsal::arrive(const std::shared_ptr<LoggedRequest>& request) {
  if (request->final_hit_layer.empty()) {
    allowed_ms_ += request->duration_ms;
    ++allowed_;
  } else {
    comparison_.add_logged_refusal(request->weight);
  }
  // A cost that is not the API's own was stated in a header, and would be again.
  const bool stated = request->cost != replays_[in_force]->own_cost(*request);
  for (std::uint64_t n = 0; n < request->weight; ++n) {
    const auto one = std::make_shared<Case>();
    one->request = request;
    one->cost = stated ? request->cost : 0;
    one->verdicts.time_ms = request->time_ms;
    judge(one, in_force);
    judge(one, renewed);
  }
}

void Rehearsal::judge(const std::shared_ptr<Case>& one, Side side) {
  Replay::Judged judged = replays_[side]->judge(*one->request, one->cost);
  const std::int64_t now = clock_.monotonic_ms();
  if (judged.decision.delayable) {
    const std::int64_t wait = judged.decision.retry_after_ms;
    if (one->held_ms[side] + wait <= judged.granted_delay_ms) {
      one->held_ms[side] += wait;
      Event again;
      again.at_ms = now + wait;
      again.side = side;
      again.held = one;
      return schedule(std::move(again));
    }
  }
  conclude(*one, side, judged);
  if (judged.holds == nullptr) return;
  Event running;
  running.end_ms = now + judged.decision.wait_ms + duration_of(*one->request);
  running.at_ms = std::min(running.end_ms, now + pipeline::SlotKeeper::kRenewEveryMs);
  running.side = side;
  running.request = one->request;
  running.holds = std::move(judged.holds);
  schedule(std::move(running));
}

void Rehearsal::conclude(Case& one, Side side, const Replay::Judged& judged) {
  Verdicts::One& verdict = one.verdicts.side[side];
  verdict.refused = !judged.decision.allowed();
  verdict.layer = verdict.refused ? judged.layer : std::string_view();
  verdict.shadow_layer = judged.shadow_layer;
  verdict.delayed = !verdict.refused && (one.held_ms[side] > 0 || judged.decision.wait_ms > 0);
  if (side == renewed) one.verdicts.api = judged.api;
  if (--one.open > 0) return;
  one.verdicts.caller = one.request->caller;
  one.verdicts.user = one.request->user;
  comparison_.add(one.verdicts);
}

std::int64_t Rehearsal::duration_of(const LoggedRequest& request) const noexcept {
  if (request.final_hit_layer.empty()) return request.duration_ms;
  return allowed_ == 0 ? 0 : allowed_ms_ / allowed_;
}

void Rehearsal::schedule(Event event) {
  event.number = event_number_++;
  events_.push_back(std::move(event));
  std::push_heap(events_.begin(), events_.end(), later);
}

void Rehearsal::run_until(std::int64_t time_ms) {
  while (!events_.empty() && events_.front().at_ms <= time_ms) {
    std::pop_heap(events_.begin(), events_.end(), later);
    Event event = std::move(events_.back());
    events_.pop_back();
    clock_.advance(event.at_ms);
    fire(std::move(event));
  }
}

void Rehearsal::fire(Event event) {
  if (event.held != nullptr) return judge(event.held, event.side);
  Replay& replay = *replays_[event.side];
  if (event.at_ms >= event.end_ms) return replay.end(*event.request, std::move(event.holds));
  replay.renew(*event.holds);
  event.at_ms = std::min(event.end_ms, event.at_ms + pipeline::SlotKeeper::kRenewEveryMs);
  schedule(std::move(event));
}

}  // namespace weir::app
