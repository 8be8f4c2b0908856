// SPDX-License-Identifier: Apache-2.0
// The way in: files -> parse -> validate -> compile -> a Runtime to publish, or everything that is wrong.
// `weir check`, start-up and reload all take it, so that what one refuses all refuse. Blocks on file reads;
// call it off the request path. Never throws.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "pipeline/runtime.hpp"

namespace weir::config {

struct LoadResult {
  std::shared_ptr<const pipeline::Runtime> runtime;  // null if there are errors: keep the old one
  // `file:line:column: path: text`, sorted by place.
  std::vector<std::string> errors;
  std::vector<std::string> warnings;
  std::vector<std::string> notes;
  // Every file that was read or looked for: what to watch for changes, also after a failure.
  std::vector<std::string> files;
};

// `known_keys`, if given, collects the name of every key the parsers asked for.
LoadResult load(const std::string& weir_yaml_path, std::set<std::string>* known_keys = nullptr);

// The keys (as in weir.yaml) that differ between the two and take effect only after a restart.
std::vector<std::string> restart_needed(const pipeline::Runtime& in_force, const pipeline::Runtime& loaded);

}  // namespace weir::config
