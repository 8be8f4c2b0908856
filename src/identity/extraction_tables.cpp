// SPDX-License-Identifier: Apache-2.0
#include "identity/extraction_tables.hpp"

#include <algorithm>

namespace weir::identity {
namespace {

std::vector<Cidr> blocks_of(const std::vector<RegionEntry>& regions) {
  std::vector<Cidr> blocks;
  for (const RegionEntry& region : regions) blocks.push_back(region.block);
  return blocks;
}

}  // namespace

ExtractionTables::ExtractionTables(ExtractorOptions given)
    : options(std::move(given)),
      trusted(options.trusted_proxies),
      regions(blocks_of(options.regions)),
      exempt_blocks(options.exempt.blocks),
      keys(options.api_keys),
      authenticator(options),
      apis(options.apis, options.paths),
      exempt_paths(options.exempt.paths, options.paths),
      names{"node", "caller", "user", "api", "ip", "class", "upstream", "tier", "region", "role"},
      has_class(!options.classes.empty()) {
  for (const ApiClass& each : options.classes) classes.emplace_back(each.patterns, options.paths);
  for (const std::string& caller : options.exempt.callers) exempt_callers.emplace(caller, true);
  if (authenticator.checks_api_keys()) key_headers.push_back(options.auth.api_key_header);
  std::erase_if(options.dimensions, [](const DimensionOptions& d) { return d.index >= kMaxDimensions; });
  for (const DimensionOptions& each : options.dimensions) {
    names[each.index] = each.name;
    dimensions = std::max<std::size_t>(dimensions, each.index + 1U);
    missing_reasons[each.index] = "the " + each.name + " of this request is missing or contradictory";
    if (each.index == dimension::api_class && each.used_by_layer) has_class = true;
    if (!is_derived(each.index)) sought.push_back({each, {each.from.begin(), each.from.end()}});
    for (const Source& source : each.from) {
      const bool known = std::find(key_headers.begin(), key_headers.end(), source.name) != key_headers.end();
      if (source.kind == SourceKind::api_key && !known) key_headers.push_back(source.name);
    }
  }
}

}  // namespace weir::identity
