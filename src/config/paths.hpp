// SPDX-License-Identifier: Apache-2.0
// Which API templates exist (spec section 1: api): those of the routes and those that quotas name.
#pragma once

#include <string>
#include <vector>

#include "config/document.hpp"
#include "config/section.hpp"

namespace weir::config {

// A path that quotas.yaml names, and where.
struct QuotaPath {
  identity::PathPattern pattern;
  LocatedText written;
  bool has_limit = false;  // an override, as opposed to `priority` or `cost`
};

// Every path named as a key of the api layer (or of a layer whose own value is the api), in callers' `api`
// sections, in `priority` and in `cost`. Bad patterns are reported. Repeated ones come once per place.
std::vector<QuotaPath> quota_paths(const QuotaSpec& quotas, Context& context);

// The templates among which the most specific match is the api of a request: the quota paths, and every
// route that no quota path already stands for. A quota path without a method stands for all methods, so it
// replaces the routes of the same path.
std::vector<identity::PathPattern> api_templates(const std::vector<QuotaPath>& quotas,
                                                 const std::vector<RouteSpec>& routes,
                                                 const identity::PathOptions& options);

// True if the layer's own value (the last dimension of its key) is `dimension`.
bool ends_with_dimension(const LayerSpec& layer, std::string_view dimension);

// A path that matches the pattern, with segments no literal would use.
std::string sample_path(const identity::PathPattern& pattern);

}  // namespace weir::config
