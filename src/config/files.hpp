// SPDX-License-Identifier: Apache-2.0
// The files one load reads: their bytes, once; their names, to watch them; a hash of it all, as the version.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::config {

// Name -> contents.
using FileTexts = std::map<std::string, std::string>;

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

  // From now on reads are answered from `files` alone, under the names they have there; the disk is not
  // looked at, and nothing new is watched. `files` outlives this.
  void read_only_from(const FileTexts& files) noexcept { given_ = &files; }
  // From now on what is read is kept, for take_kept().
  void keep() noexcept { keeping_ = true; }
  FileTexts take_kept() noexcept { return std::move(kept_); }

 private:
  std::optional<std::string> read_given(const std::string& path, std::string& why);
  void note(const std::string& path, const std::string& bytes);

  std::vector<std::string> names_;
  std::uint64_t hash_ = 0;
  const FileTexts* given_ = nullptr;
  bool keeping_ = false;
  FileTexts kept_;
};

// Eight hex digits of a hash.
std::string short_hash(std::uint64_t hash);

// `name` as seen from the directory of the file `from`, unless it is absolute.
std::string beside(const std::string& from, const std::string& name);

}  // namespace weir::config
