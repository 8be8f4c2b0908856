// SPDX-License-Identifier: Apache-2.0
// The files one load reads: their bytes, once; their names, to watch them; a hash of it all, as the version.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir::config {

class Files {
 public:
  static constexpr std::size_t kMaxBytes = 16 * 1024 * 1024;

  // The whole file. nullopt: `why` says why not (missing, a directory, too large ...). The name is kept for
  // watching either way, since a file may appear later.
  std::optional<std::string> read(const std::string& path, std::string& why);

  // Every path asked for, in order, each once.
  const std::vector<std::string>& names() const noexcept { return names_; }

  // Eight hex digits over names and contents in order.
  std::string version() const;

 private:
  std::vector<std::string> names_;
  std::uint64_t hash_ = 0;
};

// `name` as seen from the directory of the file `from`, unless it is absolute.
std::string beside(const std::string& from, const std::string& name);

}  // namespace weir::config
