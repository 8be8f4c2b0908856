// SPDX-License-Identifier: Apache-2.0
// Records and files for the tests of this folder.
#pragma once

#include <stdlib.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "weir/telemetry/records.hpp"

namespace weir::telemetry::test {

// A request that went through the chain node, caller, user, api; `refusing` are positions that refuse it.
struct Chain {
  explicit Chain(std::vector<std::size_t> refusing = {}) {
    constexpr std::array<std::string_view, 4> names{"node", "caller", "user", "api"};
    for (std::size_t n = 0; n < names.size(); ++n) {
      layers[n].layer = names[n];
      layers[n].limit = 100;
      layers[n].used = 40;
    }
    for (const std::size_t n : refusing) {
      layers[n].refused = true;
      layers[n].used = 100;
    }
    record.wall_ms = 1'700'000'000'123;
    record.duration_us = 1500;
    record.limiter_us = 12;
    record.request_id = "id-1";
    record.method = "POST";
    record.path = "/order/7/pay";
    record.route = "/order/**";
    record.api = "POST /order/{id}/pay";
    record.caller = "acme";
    record.user = "u1";
    record.client = "1.2.3.4";
    record.ending = "complete";
    record.status = refusing.empty() ? 200 : 429;
    record.outcome = refusing.empty() ? "allowed" : "over_limit";
    record.layers = layers;
    if (refusing.empty()) return;
    record.final_hit_layer = names[refusing.front()];
    record.limit_value = 100;
    record.current_value = 100;
    record.retry_after_s = 3;
  }
  Chain(const Chain&) = delete;
  Chain& operator=(const Chain&) = delete;

  std::array<LayerRecord, 4> layers;
  RequestRecord record;
};

// A directory of its own, removed at the end.
class Folder {
 public:
  Folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "weir-telemetry-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string file(std::string_view name) const { return path_ + "/" + std::string(name); }

 private:
  std::string path_;
};

inline std::string contents(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

inline std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

}  // namespace weir::telemetry::test
