// SPDX-License-Identifier: Apache-2.0
// quotas.yaml: the layers, the exempt lane, accounting and cost.
#include "config/parse.hpp"

namespace weir::config {

namespace {

void parse_exempt(Section& limits, QuotaSpec& quotas) {
  const Node* const node = limits.find("exempt");
  if (node == nullptr) return;
  Section section(*node, "limit.exempt", limits.context());
  section.texts("callers", quotas.exempt.callers);
  section.cidrs("cidrs", quotas.exempt.blocks);
  std::vector<std::string> paths;
  section.texts("paths", paths);
  for (std::size_t n = 0; n < paths.size(); ++n) {
    const Position at = section.find("paths")->items[n].at;
    const auto pattern = parse_pattern(paths[n], at, "limit.exempt.paths", limits.context());
    if (!pattern) continue;
    quotas.exempt.paths.push_back(*pattern);
    quotas.exempt_paths.push_back({paths[n], at, "limit.exempt.paths"});
  }
  section.count("factor", quotas.exempt_factor, {1, 1000});
  section.finish();
}

std::string lower(std::string text) {
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return text;
}

void parse_settle(Section& cost, pipeline::CostOptions& options) {
  const Node* const node = cost.find("settle");
  if (node == nullptr) return;
  Section section(*node, "limit.cost.settle", cost.context());
  std::string header;
  const bool by_header = section.text("response_header", header);
  options.settle_response_header = lower(header);
  const bool by_bytes =
      section.size("bytes_per_permit", options.settle_bytes_per_permit, {1, std::uint64_t{1} << 40});
  if (by_header && by_bytes) {
    section.error("bytes_per_permit",
                  "stands beside response_header; the true cost comes from one of the two");
  }
  section.finish();
}

void parse_cost(Section& limits, QuotaSpec& quotas) {
  const Node* const node = limits.find("cost");
  if (node == nullptr) return;
  Section section(*node, "limit.cost", limits.context());
  std::string header;
  if (section.text("header", header)) quotas.cost.request_header = lower(header);
  section.count("max", quotas.cost.max_cost, {1, 1'000'000'000});
  parse_settle(section, quotas.cost);
  section.finish();
}

void parse_switches(Section& root) {
  const Node* const node = root.find_maybe_empty("switches");
  if (node == nullptr || node->kind == Node::Kind::null) return;
  if (node->kind != Node::Kind::sequence) {
    root.error("switches", "needs a list");
    return;
  }
  if (!node->items.empty()) {
    root.error("switches",
               "degradation switches are not supported by this version; the list has to be empty");
  }
}

bool is_layer(const std::string& key) {
  return key != "exempt" && key != "accounting" && key != "cost";
}

}  // namespace

void parse_quotas(const Node& tree, const std::string& file, Document& document, Context& context) {
  Section root(tree, "", context);
  std::int64_t version = 1;
  root.count("version", version, {1, 1});
  parse_switches(root);
  const Node* const node = root.find("limit");
  root.finish();
  if (node == nullptr) {
    if (tree.kind == Node::Kind::map && root.find_maybe_empty("limit") == nullptr) {
      root.error("limit", "is missing; a quota file holds the layers under `limit`");
    }
    return;
  }
  Section limits(*node, "limit", context);
  QuotaSpec& quotas = document.quotas;
  quotas.at = root.at("limit");
  parse_exempt(limits, quotas);
  parse_cost(limits, quotas);
  static constexpr Word<limit::Accounting> words[] = {{"all_or_none", limit::Accounting::all_or_none},
                                                      {"relaxed", limit::Accounting::relaxed}};
  limits.word("accounting", quotas.accounting, words);
  for (const Entry& entry : node->entries) {
    if (is_layer(entry.key)) parse_layer(entry, file, quotas, context);
  }
}

}  // namespace weir::config
