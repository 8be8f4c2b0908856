// SPDX-License-Identifier: Apache-2.0
// Which endpoint takes the next request. One per cluster and worker; pure, but for the counters that make
// endpoints take turns.
//
// An endpoint out of service (checks, ejection) is left out, unless all are: then all are chosen from, since
// being refused for certain is worse (panic mode). The weight of an endpoint that came back grows over
// `slow_start`.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "weir/upstream/options.hpp"

namespace weir::upstream {

class Endpoint;
using Endpoints = std::vector<std::shared_ptr<Endpoint>>;

// What the choice depends on, beside the endpoints.
struct Choice {
  Balance balance = Balance::least_request;
  std::uint64_t key = 0;  // of `hash`
  int bound_percent = 125;
  std::int64_t slow_start_ms = 0;
  std::int64_t now_ms = 0;
};

class Balancer {
 public:
  // With `hash`, an endpoint may always have so many requests of this worker under way, whatever its share.
  static constexpr std::int64_t kSlack = 8;

  // nullptr only without endpoints. Endpoints in `avoid` are chosen only where there is no other.
  //
  // round_robin: in turn, smoothly by weight (nginx' algorithm: each gains its weight, the highest is chosen
  // and loses the sum). least_request: the fewest outstanding requests of this worker, equals take turns;
  // with unequal weights smoothly by weight / (outstanding + 1). hash: the highest score -weight / ln(hash of
  // key and endpoint) among those that have less than bound_percent of their share of what is under way
  // (weighted rendezvous hashing with bounded loads): a change of the endpoints moves only the keys of those
  // that came or went.
  std::shared_ptr<Endpoint> pick(const Endpoints& endpoints, const Choice& choice,
                                 const std::vector<const Endpoint*>& avoid);

 private:
  struct Candidate {
    const std::shared_ptr<Endpoint>* endpoint;
    std::int64_t weight;
    std::int64_t outstanding;
  };
  enum class Who : std::uint8_t { in_service, not_avoided, all };

  void gather(const Endpoints& endpoints, const Choice& choice, const std::vector<const Endpoint*>& avoid,
              Who who);
  const Candidate& least_loaded() noexcept;
  const Candidate& by_turns(Balance balance) noexcept;
  const Candidate& by_hash(const Choice& choice) noexcept;

  std::vector<Candidate> candidates_;  // keeps its memory
  std::size_t turn_ = 0;
  bool equal_weights_ = true;
};

}  // namespace weir::upstream
