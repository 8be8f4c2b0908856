// SPDX-License-Identifier: Apache-2.0
// What an Extractor makes of its options, once: tables that every request is looked up in. Immutable but for
// the memory of tokens that were verified.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "base/string_map.hpp"
#include "identity/addresses.hpp"
#include "identity/api_keys.hpp"
#include "identity/authentication.hpp"
#include "identity/path_table.hpp"
#include "identity/sources.hpp"
#include "weir/identity/options.hpp"

namespace weir::identity {

struct ExtractionTables {
  explicit ExtractionTables(ExtractorOptions given);

  ExtractorOptions options;
  CidrTable trusted;
  CidrTable regions;
  CidrTable exempt_blocks;
  ApiKeyTable keys;
  Authenticator authenticator;
  std::vector<std::string> key_headers;  // every header that an API key is read from
  PathTable apis;
  PathTable exempt_paths;
  std::vector<PathTable> classes;
  StringMap<bool> exempt_callers;
  std::vector<SoughtDimension> sought;  // refers to `options`
  std::array<std::string, kMaxDimensions> names;
  std::array<std::string, kMaxDimensions> missing_reasons;
  std::size_t dimensions = dimension::kFirstDeclared;
  bool has_class = false;  // classes are configured, or a layer counts by class
};

}  // namespace weir::identity
