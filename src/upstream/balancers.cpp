// SPDX-License-Identifier: Apache-2.0
#include "upstream/balancers.hpp"

#include <algorithm>
#include <cmath>

#include "base/hash.hpp"
#include "upstream/endpoint.hpp"

namespace weir::upstream {
namespace {

std::uint64_t score_of(std::uint64_t key, const Endpoint& endpoint) noexcept {
  return stable_hash(endpoint.name(), key);
}

// -weight / ln(u) for u evenly in (0, 1): the highest of several is each one's in proportion to its weight.
double weighted(std::uint64_t score, std::int64_t weight) noexcept {
  constexpr double kUnit = 1.0 / 9007199254740992.0;
  const double u = (static_cast<double>(score >> 11) + 0.5) * kUnit;
  return static_cast<double>(weight) / -std::log(u);
}

}  // namespace

std::shared_ptr<Endpoint> Balancer::pick(const Endpoints& endpoints, const Choice& choice,
                                         const std::vector<const Endpoint*>& avoid) {
  gather(endpoints, choice, avoid, Who::in_service);
  if (candidates_.empty()) gather(endpoints, choice, avoid, Who::not_avoided);
  if (candidates_.empty()) gather(endpoints, choice, avoid, Who::all);
  if (candidates_.empty()) return nullptr;
  // A second attempt takes no turn: the first of the next request would always be at the one that failed.
  if (avoid.empty()) ++turn_;
  if (candidates_.size() == 1) return *candidates_.front().endpoint;
  if (choice.balance == Balance::hash) return *by_hash(choice).endpoint;
  if (!equal_weights_) return *by_turns(choice.balance).endpoint;
  if (choice.balance == Balance::least_request) return *least_loaded().endpoint;
  return *candidates_[turn_ % candidates_.size()].endpoint;
}

void Balancer::gather(const Endpoints& endpoints, const Choice& choice,
                      const std::vector<const Endpoint*>& avoid, Who who) {
  candidates_.clear();
  equal_weights_ = true;
  for (const auto& endpoint : endpoints) {
    const SharedEndpoint& shared = *endpoint->shared();
    const bool avoided = std::find(avoid.begin(), avoid.end(), endpoint.get()) != avoid.end();
    if (who != Who::all && avoided) continue;
    if (who == Who::in_service && !shared.in_service(choice.now_ms)) continue;
    const std::int64_t share = slow_start_share(shared.back_since_ms.load(std::memory_order_relaxed),
                                                choice.slow_start_ms, choice.now_ms);
    const std::int64_t weight = endpoint->weight() * share;
    const std::int64_t outstanding = endpoint->stats().outstanding.load(std::memory_order_relaxed);
    candidates_.push_back({&endpoint, weight, outstanding});
    equal_weights_ = equal_weights_ && weight == candidates_.front().weight;
  }
}

const Balancer::Candidate& Balancer::least_loaded() noexcept {
  const std::size_t count = candidates_.size();
  const Candidate* best = &candidates_[turn_ % count];
  for (std::size_t n = 1; n < count; ++n) {
    const Candidate& other = candidates_[(turn_ + n) % count];
    if (other.outstanding < best->outstanding) best = &other;
  }
  return *best;
}

const Balancer::Candidate& Balancer::by_turns(Balance balance) noexcept {
  const Candidate* best = nullptr;
  std::int64_t sum = 0;
  for (const Candidate& one : candidates_) {
    const std::int64_t load = balance == Balance::least_request ? one.outstanding + 1 : 1;
    const std::int64_t gain = std::max<std::int64_t>(1, one.weight / load);
    sum += gain;
    std::int64_t& credit = (*one.endpoint)->credit();
    credit += gain;
    if (best == nullptr || credit > (*best->endpoint)->credit()) best = &one;
  }
  (*best->endpoint)->credit() -= sum;
  return *best;
}

const Balancer::Candidate& Balancer::by_hash(const Choice& choice) noexcept {
  std::int64_t weights = 0;
  std::int64_t under_way = 1;
  for (const Candidate& one : candidates_) {
    weights += one.weight;
    under_way += one.outstanding;
  }
  const Candidate* best = nullptr;
  const Candidate* calmest = &candidates_.front();
  double highest = -1;
  for (const Candidate& one : candidates_) {
    const double fair = static_cast<double>(under_way) * static_cast<double>(one.weight) /
                        static_cast<double>(weights) * choice.bound_percent / 100;
    if (one.outstanding < calmest->outstanding) calmest = &one;
    if (one.outstanding >= kSlack && static_cast<double>(one.outstanding) >= std::ceil(fair)) continue;
    const std::uint64_t score = score_of(choice.key, **one.endpoint);
    const double rank = equal_weights_ ? static_cast<double>(score) : weighted(score, one.weight);
    if (rank <= highest) continue;
    best = &one;
    highest = rank;
  }
  return best != nullptr ? *best : *calmest;
}

}  // namespace weir::upstream
