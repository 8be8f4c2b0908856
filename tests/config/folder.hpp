// SPDX-License-Identifier: Apache-2.0
// A folder of configuration files that goes away with the test, and the shortest way from texts to a load.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "config/load.hpp"

namespace weir::config {

class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "weir-config-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::string operator/(std::string_view name) const { return (path_ / name).string(); }

  void write(std::string_view name, std::string_view text) const {
    std::ofstream(path_ / name, std::ios::binary) << text;
  }
  // As editors and deployment tools do: nobody sees half a file.
  void replace(std::string_view name, std::string_view text) const {
    write("fresh", text);
    std::filesystem::rename(path_ / "fresh", path_ / name);
  }

 private:
  std::filesystem::path path_;
};

// A weir.yaml that declares what the usual layers count by.
inline constexpr std::string_view kWeir = R"(node: test
identity:
  caller: {from: [{header: X-Caller-Id}], missing: anonymous}
  user: {from: [{header: X-User-Id}], missing: anonymous}
  role: {from: [{header: X-Role}], missing: anonymous}
  tier: {from: [{header: X-Tier}]}
upstreams: {default: {endpoints: ["127.0.0.1:9000"]}}
quotas: quotas.yaml
)";

inline LoadResult load_texts(const Folder& folder, std::string_view weir, std::string_view quotas) {
  folder.write("weir.yaml", weir);
  folder.write("quotas.yaml", quotas);
  return load(folder / "weir.yaml");
}

// All lines, without the folder's name, one below the other.
inline std::string text_of(const std::vector<std::string>& lines, const Folder& folder) {
  std::string out;
  const std::string prefix = folder.path().string() + "/";
  for (std::string line : lines) {
    for (std::size_t at = line.find(prefix); at != std::string::npos; at = line.find(prefix)) {
      line.erase(at, prefix.size());
    }
    out += line + "\n";
  }
  return out;
}

// The errors of a quota file beside kWeir.
inline std::string quota_errors(std::string_view quotas) {
  const Folder folder;
  return text_of(load_texts(folder, kWeir, quotas).errors, folder);
}

inline std::string quota_warnings(std::string_view quotas) {
  const Folder folder;
  const LoadResult result = load_texts(folder, kWeir, quotas);
  return text_of(result.errors, folder) + text_of(result.warnings, folder);
}

// The errors of a weir.yaml beside an empty set of quotas.
inline std::string weir_errors(std::string_view weir) {
  const Folder folder;
  return text_of(load_texts(folder, weir, "limit: {}\n").errors, folder);
}

}  // namespace weir::config
