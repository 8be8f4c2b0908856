// SPDX-License-Identifier: Apache-2.0
#include "config/order.hpp"

#include <algorithm>

#include "config/resolve.hpp"
#include "config/validate.hpp"
#include "weir/limit/decision.hpp"

namespace weir::config {

namespace {

int rank(std::string_view layer) {
  if (layer == "ip") return 0;
  if (layer == "node") return 1;
  if (layer == "caller") return 2;
  if (layer == "user") return 3;
  return layer == "api" ? 5 : 4;
}

// A layer that names the one it stands before.
struct Pending {
  std::size_t layer;
  const LocatedText* before;
};

// Places one layer whose target is placed already; false if there is none.
bool place_one(const QuotaSpec& quotas, std::vector<Pending>& pending, std::vector<std::size_t>& order) {
  for (auto one = pending.begin(); one != pending.end(); ++one) {
    const std::string& target = one->before->value;
    const auto place = std::find_if(order.begin(), order.end(),
                                    [&](std::size_t n) { return quotas.layers[n].name == target; });
    if (place == order.end()) continue;
    order.insert(place, one->layer);
    pending.erase(one);
    return true;
  }
  return false;
}

}  // namespace

std::vector<std::size_t> layer_order(const QuotaSpec& quotas, Diagnostics& diagnostics) {
  std::vector<std::size_t> order;
  std::vector<Pending> pending;
  std::vector<std::string_view> names;
  for (std::size_t n = 0; n < quotas.layers.size(); ++n) {
    const LayerSpec& layer = quotas.layers[n];
    if (layer.before)
      pending.push_back({n, &*layer.before});
    else
      order.push_back(n);
    names.push_back(layer.name);
  }
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const int rank_a = rank(quotas.layers[a].name);
    const int rank_b = rank(quotas.layers[b].name);
    return rank_a != rank_b ? rank_a < rank_b : a < b;
  });
  while (place_one(quotas, pending, order)) {
  }
  for (const auto& [layer, before] : pending) {
    const bool known = std::find(names.begin(), names.end(), before->value) != names.end();
    diagnostics.error(before->at, before->path,
                      known ? "goes in a circle; the layer it names stands before this one"
                            : not_one_of("layer", before->value, names));
    order.push_back(layer);
  }
  const std::size_t count = order.size() + (caller_api_layer(quotas) ? 1 : 0);
  if (count > limit::kMaxLayers) {
    diagnostics.error(quotas.layers[order.back()].at, "limit",
                      "has " + std::to_string(count) + " layers; a chain has at most 16");
  }
  return order;
}

}  // namespace weir::config
