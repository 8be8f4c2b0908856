// SPDX-License-Identifier: Apache-2.0
#include "app/simulate/replay.hpp"

#include <algorithm>
#include <array>

#include "app/simulate/logged_identity.hpp"
#include "pipeline/cost.hpp"
#include "weir/upstream/cluster.hpp"

namespace weir::app {
namespace {

namespace dimension = identity::dimension;

std::string_view layer_of(const limit::ChargeSet& set, std::uint32_t hits) {
  for (std::size_t n = 0; n < set.size; ++n) {
    if ((hits >> n & 1U) != 0) return set.charge[n].policy->layer;
  }
  return {};
}

}  // namespace

class Replay::Scratch final : public identity::Scratch {
 public:
  explicit Scratch(std::deque<std::string>& texts) : texts_(texts) {}
  std::string_view keep(std::string_view text) override { return texts_.emplace_back(text); }

 private:
  std::deque<std::string>& texts_;
};

Replay::Replay(std::shared_ptr<const pipeline::Runtime> runtime, std::size_t max_keys,
               const ReplayClock& clock)
    : runtime_(std::move(runtime)),
      clock_(clock),
      store_(max_keys, clock),
      settles_(!runtime_->cost.settle_response_header.empty() ||
               runtime_->cost.settle_bytes_per_permit != 0) {}

void Replay::identify(const LoggedRequest& request) {
  texts_.clear();
  found_ = identity::Extraction();
  Scratch scratch(texts_);
  identify_logged(*runtime_, request, scratch, found_);
}

std::int64_t Replay::own_cost(const LoggedRequest& request) {
  identify(request);
  return pipeline::request_cost({}, found_.identity.text(dimension::api), false, runtime_->cost);
}

bool Replay::lasts(const limit::ChargeSet& set, const limit::Decision& decision) const {
  if (!decision.allowed() || set.size == 0) return false;
  if (settles_) return true;
  return std::ranges::any_of(set.charges(),
                             [](const limit::Charge& charge) { return charge.charged && charge.is_slot(); });
}

Replay::Judged Replay::judge(const LoggedRequest& request, std::int64_t cost) {
  identify(request);
  Judged out;
  out.api = found_.identity.text(dimension::api);
  if (cost == 0) {
    cost = pipeline::request_cost({}, out.api, false, runtime_->cost);
  } else {
    cost = std::min(cost, runtime_->cost.max_cost);
  }
  std::array<limit::DescriptorEntry, identity::kMaxDimensions> facts;
  for (std::size_t d = 0; d < facts.size(); ++d) {
    const identity::Value& value = found_.identity.value[d];
    facts[d] = {value.text, static_cast<limit::Fact>(value.presence)};
  }
  if (spare_ == nullptr) spare_ = std::make_unique<limit::ChargeSet>();
  limit::ChargeSet& set = *spare_;
  const limit::Descriptor who{
      {facts.data(), runtime_->extractor.dimensions()}, found_.identity.exempt, cost, ++owner_};
  out.layer = runtime_->chain.build(who, clock_.wall_ms(), set);
  if (!out.layer.empty()) {
    out.decision.outcome = limit::Outcome::blocked;
    return out;
  }
  if (set.size != 0) store_.decide_now(set);
  out.decision = limit::conclude(set);
  if (out.decision.final_hit != limit::Decision::kNoLayer) {
    out.layer = set.charge[out.decision.final_hit].policy->layer;
  }
  out.shadow_layer = layer_of(set, out.decision.shadow_hits);
  if (out.decision.delayable) out.granted_delay_ms = limit::granted_delay_ms(set, out.decision);
  if (lasts(set, out.decision)) out.holds = std::move(spare_);
  return out;
}

void Replay::renew(const limit::ChargeSet& held) {
  store_.renew(held);
}

void Replay::end(const LoggedRequest& request, std::unique_ptr<limit::ChargeSet> held) {
  if (settles_) {
    upstream::ForwardResult result;
    result.upstream_status = request.upstream_status;
    result.has_cost_header = request.true_cost != 0;
    result.cost_header = static_cast<std::uint64_t>(request.true_cost);
    const auto cost = pipeline::true_cost(result, request.bytes_out, runtime_->cost);
    std::int64_t charged = 0;
    for (const limit::Charge& charge : held->charges()) {
      if (!charge.is_slot()) charged = charge.request.cost;
    }
    if (cost && charged != 0 && *cost != charged) store_.settle(*held, *cost - charged);
  }
  store_.release(*held);
  if (spare_ == nullptr) spare_ = std::move(held);
}

}  // namespace weir::app
