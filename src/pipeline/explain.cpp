// SPDX-License-Identifier: Apache-2.0
#include "pipeline/explain.hpp"

#include "identity/addresses.hpp"

#include <array>

#include "pipeline/cost.hpp"
#include "pipeline/text.hpp"

namespace weir::pipeline {
namespace {

namespace dimension = identity::dimension;
using limit::DescriptorEntry;

class ProbeScratch final : public identity::Scratch {
 public:
  explicit ProbeScratch(std::deque<std::string>& texts) : texts_(texts) {}
  std::string_view keep(std::string_view text) override { return texts_.emplace_back(text); }

 private:
  std::deque<std::string>& texts_;
};

http::RequestHead head_of(const ProbeRequest& request) {
  http::RequestHead head;
  head.method_text = request.method;
  head.method = request.method == "OPTIONS" ? http::Method::options : http::Method::other;
  head.target = request.target;
  const std::size_t question = head.target.find('?');
  head.path = head.target.substr(0, question);
  if (question != std::string_view::npos) head.query = head.target.substr(question + 1);
  for (const auto& [name, value] : request.headers) head.fields.emplace_back(name, value);
  return head;
}

std::string credential_text(const identity::Extraction& found) {
  using identity::Credential;
  std::string text = "none";
  if (found.proved == Credential::api_key) text = "api_key";
  if (found.proved == Credential::jwt) text = "jwt";
  if (found.proved == Credential::any) text = "api_key and jwt";
  if (found.auth_fault != identity::AuthFault::none) {
    text += " (not accepted: ";
    text += name_of(found.auth_fault);
    text += ')';
  }
  return text;
}

std::string presence_text(const identity::Value& value) {
  if (value.presence == identity::Presence::present) return std::string(value.text);
  return value.presence == identity::Presence::anonymous ? "(anonymous)" : "(absent)";
}

std::string state_of(const limit::Policy* policy, const limit::Charge* charge) {
  if (policy == nullptr) return "does not apply";
  if (policy->access == limit::Access::blocked) return "blocked";
  if (policy->access == limit::Access::unlimited) return "unlimited";
  if (charge == nullptr) return "does not apply";
  return charge->enforcement == limit::Enforcement::shadow ? "shadow" : "counted";
}

LayerExplanation explain_layer(const limit::Layer& layer, const limit::LimiterChain& chain,
                               const std::array<DescriptorEntry, identity::kMaxDimensions>& facts,
                               std::int64_t wall_ms, const Explanation& out) {
  LayerExplanation line;
  line.layer = layer.name;
  const auto& table = out.exempt ? layer.exempt : layer.policies;
  const limit::Policy* policy = table.find(facts[layer.key.back()], facts[chain.options().caller_dimension],
                                           facts[chain.options().tier_dimension], wall_ms);
  const limit::Charge* charge = nullptr;
  for (std::size_t n = 0; n < out.charges.size; ++n) {
    if (out.charges.charge[n].policy->layer != layer.name) continue;
    charge = &out.charges.charge[n];
    line.charge = static_cast<int>(n);
    line.key = charge->key;
  }
  line.state = state_of(policy, charge);
  if (policy == nullptr) return line;
  line.algorithm = limit::name_of(policy->terms.algorithm);
  line.source = policy->source;
  line.limit = policy->terms.limit;
  line.window_ms = policy->terms.window_ms;
  line.burst = policy->terms.burst;
  return line;
}

}  // namespace

void explain(const Runtime& runtime, ProbeRequest request, std::int64_t wall_ms, Explanation& out) {
  out.request = std::move(request);
  const http::RequestHead head = head_of(out.request);
  boost::system::error_code bad;
  auto peer = boost::asio::ip::make_address(out.request.peer, bad);
  if (bad) peer = boost::asio::ip::make_address("127.0.0.1");

  ProbeScratch scratch(out.texts);
  identity::Extraction found;
  runtime.extractor.extract(head, peer, scratch, found);
  out.normal_path = found.normal_path;
  identity::AddressText client;
  out.client = identity::address_text(found.client, client);
  out.credential = credential_text(found);
  if (found.refusal != identity::Refusal::none) {
    out.refusal = found.refusal_reason;
    out.refusal_status = found.refusal_status;
    return;
  }
  const auto cost = request_cost(head, found.identity.text(dimension::api), found.peer_trusted, runtime.cost);
  explain_found(runtime, head.method_text, std::move(found), cost, wall_ms, out);
}

void explain_found(const Runtime& runtime, std::string_view method, identity::Extraction found,
                   std::int64_t cost, std::int64_t wall_ms, Explanation& out) {
  identity::AddressText client;
  out.client = identity::address_text(found.client, client);
  out.normal_path = found.normal_path;
  if (const auto route = runtime.route_table.find(method, found.normal_path)) {
    out.route = runtime.routes[*route].pattern;
    out.upstream = runtime.routes[*route].upstream;
    found.identity[dimension::upstream] = {runtime.routes[*route].upstream, identity::Presence::present};
  }
  out.exempt = found.identity.exempt;
  out.cost = cost != 0 ? cost : request_cost({}, found.identity.text(dimension::api), false, runtime.cost);

  std::array<DescriptorEntry, identity::kMaxDimensions> facts;
  for (std::size_t d = 0; d < facts.size(); ++d) {
    const auto& value = found.identity.value[d];
    facts[d] = {value.text, static_cast<limit::Fact>(value.presence)};
    const auto name = runtime.extractor.dimension_name(static_cast<identity::Dimension>(d));
    if (!name.empty()) out.identity.emplace_back(name, presence_text(value));
  }
  const limit::Descriptor who{facts, out.exempt, out.cost, 1};
  out.blocked_layer = runtime.chain.build(who, wall_ms, out.charges);
  // Charges are in the order this request is judged in (priority moves a layer); what is not counted comes
  // last.
  std::vector<LayerExplanation> counted(out.charges.size), uncounted;
  for (const limit::Layer& layer : runtime.chain.layers()) {
    LayerExplanation line = explain_layer(layer, runtime.chain, facts, wall_ms, out);
    (line.charge < 0 ? uncounted.emplace_back() : counted[line.charge]) = std::move(line);
  }
  out.layers = std::move(counted);
  out.layers.insert(out.layers.end(), uncounted.begin(), uncounted.end());
}

}  // namespace weir::pipeline
