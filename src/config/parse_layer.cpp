// SPDX-License-Identifier: Apache-2.0
// One layer of `limit`.
#include <algorithm>
#include <array>
#include <iterator>

#include "config/parse.hpp"
#include "config/yaml_reader.hpp"

namespace weir::config {

namespace {

struct DefaultKey {
  std::string_view layer;
  std::array<std::string_view, 2> key;  // an empty name is none
};
constexpr std::array<DefaultKey, 9> kDefaultKeys{{{"node", {"node", ""}},
                                                  {"caller", {"caller", ""}},
                                                  {"user", {"caller", "user"}},
                                                  {"role", {"caller", "role"}},
                                                  {"class", {"caller", "class"}},
                                                  {"api", {"api", ""}},
                                                  {"ip", {"ip", ""}},
                                                  {"region", {"region", ""}},
                                                  {"upstream", {"upstream", ""}}}};

void read_key(Section& section, LayerSpec& layer) {
  if (const Node* const list = section.find("key")) {
    std::vector<std::string> names;
    section.texts("key", names);
    for (std::size_t n = 0; n < names.size(); ++n) {
      layer.key.push_back({names[n], list->items[n].at, section.path_of("key")});
    }
    if (names.empty()) section.error("key", "needs a list of dimensions such as [caller, role]");
    return;
  }
  for (const DefaultKey& one : kDefaultKeys) {
    if (one.layer != layer.name) continue;
    for (const std::string_view name : one.key) {
      if (!name.empty()) layer.key.push_back({std::string(name), layer.at, layer.path});
    }
  }
  if (layer.key.empty()) {
    section.error(
        "key", "is missing; this layer has no usual one; write a list such as [caller, " + layer.name + "]");
  }
}

// `default`, for node also `total`.
void read_fallback(Section& section, LayerSpec& layer) {
  std::string_view key = "default";
  if (layer.name == "node") {
    const bool both = section.find("total") != nullptr && section.find("default") != nullptr;
    if (both) section.error("default", "stands beside `total`, which is the same; write one of the two");
    if (section.find("total") != nullptr) key = "total";
  }
  if (const Node* const node = section.find(key)) {
    layer.fallback = parse_limit(*node, section.path_of(key), section.context());
  }
}

void read_override_file(Section& section, const std::string& quotas_file, LayerSpec& layer) {
  const auto named = read_named_file(section, "overrides_file", quotas_file);
  if (!named) return;
  Context& context = section.context();
  const std::uint32_t file = context.diagnostics.add_file(named->path);
  const std::optional<Node> tree = read_json(named->bytes, file, context.diagnostics);
  if (!tree) return;
  std::vector<OverrideSpec> more = parse_overrides(*tree, layer.path + ".overrides", layer.name, context);
  layer.overrides.insert(layer.overrides.end(), std::make_move_iterator(more.begin()),
                         std::make_move_iterator(more.end()));
}

void read_limits(Section& section, const std::string& quotas_file, LayerSpec& layer) {
  Context& context = section.context();
  read_fallback(section, layer);
  if (const Node* const node = section.find("anonymous")) {
    layer.anonymous = parse_limit(*node, section.path_of("anonymous"), context);
  }
  if (const Node* const node = section.find("tiers")) {
    layer.tiers = parse_keyed_limits(*node, section.path_of("tiers"), context);
  }
  if (const Node* const node = section.find("overrides")) {
    layer.overrides = parse_overrides(*node, section.path_of("overrides"), layer.name, context);
  }
  read_override_file(section, quotas_file, layer);
}

void read_place(Section& section, LayerSpec& layer) {
  read_key(section, layer);
  LocatedText before{"", section.at("before"), section.path_of("before")};
  if (section.text("before", before.value)) layer.before = before;
  static constexpr Word<bool> offsets[] = {{"hashed", true}, {"none", false}};
  section.word("offset", layer.hashed_offset, offsets);
  static constexpr Word<limit::Scope> scopes[] = {
      {"fleet", limit::Scope::fleet}, {"instance", limit::Scope::instance}, {"global", limit::Scope::global}};
  layer.scope.at = section.at("scope");
  layer.scope.path = section.path_of("scope");
  section.word("scope", layer.scope.value, scopes);
  Located<std::int64_t> capacity{0, section.at("capacity"), section.path_of("capacity")};
  if (section.count("capacity", capacity.value, {1, kMaxExact})) layer.capacity = capacity;
  LocatedText zone{"", section.at("time_zone"), section.path_of("time_zone")};
  if (section.text("time_zone", zone.value)) layer.time_zone = zone;
}

// `priority` and `cost`: per API, so of the api layer alone.
void read_api_tables(Section& section, LayerSpec& layer) {
  if (layer.name != "api") return;
  if (const Node* const node = section.find("priority")) {
    Section table(*node, section.path_of("priority"), section.context());
    for (const Entry& entry : node->entries) {
      bool first = false;
      table.boolean(entry.key, first);
      if (first) layer.priority.push_back({entry.key, entry.at, table.path_of(entry.key)});
    }
  }
  if (const Node* const node = section.find("cost")) {
    Section table(*node, section.path_of("cost"), section.context());
    for (const Entry& entry : node->entries) {
      std::int64_t cost = 1;
      if (!table.count(entry.key, cost, {1, kMaxExact})) continue;
      layer.cost.push_back({{entry.key, cost}, entry.at, table.path_of(entry.key)});
    }
  }
}

}  // namespace

void parse_layer(const Entry& entry, const std::string& file, QuotaSpec& quotas, Context& context) {
  LayerSpec layer;
  layer.name = entry.key;
  layer.at = entry.at;
  layer.path = "limit." + entry.key;
  if (!is_name(layer.name) || layer.name == "caller_api") {
    context.diagnostics.error(entry.at, layer.path,
                              layer.name == "caller_api"
                                  ? "is the name of the layer that callers' `api` sections form; use another"
                                  : "is not a name; use letters, digits, _ and -");
    return;
  }
  if (entry.value.kind != Node::Kind::map) {
    context.diagnostics.error(entry.at, layer.path, "needs a section such as {default: 100}");
    return;
  }
  Section section(entry.value, layer.path, context);
  read_place(section, layer);
  parse_settings(section, layer.settings);
  read_limits(section, file, layer);
  read_api_tables(section, layer);
  section.finish();
  quotas.layers.push_back(std::move(layer));
}

}  // namespace weir::config
