// SPDX-License-Identifier: Apache-2.0
// Everything that is wrong with a configuration, collected so that one run names all of it.
//
// A line reads `file:line:column: path.to.key: what is wrong; what is allowed`. Lines are sorted by file and
// position. Texts never quote a secret: callers pass what was written, not what it was replaced by.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/node.hpp"

namespace weir::config {

enum class Severity : std::uint8_t {
  error,    // the configuration is refused
  warning,  // it is taken, but probably not what was meant
  note,     // worth knowing
};

struct Diagnostic {
  Severity severity = Severity::error;
  Position at;
  std::string path;  // "store.timeout"; empty for a whole file
  std::string text;
};

class Diagnostics {
 public:
  // Files are named by index in positions. Returns the new index.
  std::uint32_t add_file(std::string name);
  const std::string& file(std::uint32_t index) const { return files_[index]; }

  void error(Position at, std::string path, std::string text);
  void warning(Position at, std::string path, std::string text);
  void note(Position at, std::string path, std::string text);

  bool failed() const noexcept { return errors_ > 0; }

  // Sorted lines of one severity, at most kMaxLines and a last one that counts the rest.
  std::vector<std::string> lines(Severity severity) const;
  // All of them, sorted by place.
  std::vector<Diagnostic> sorted() const;
  const std::vector<std::string>& files() const noexcept { return files_; }
  // "quotas.yaml:12:9", without the directory.
  std::string place(Position at) const;

  static constexpr std::size_t kMaxLines = 200;

 private:
  void add(Severity severity, Position at, std::string path, std::string text);

  std::vector<std::string> files_;
  std::vector<Diagnostic> list_;
  std::size_t errors_ = 0;
};

// The candidate with the smallest edit distance to `word` (a swap of neighbours counts one), if it is near
// enough to be what was meant: at most one third of the longer word, at least 1. Else "".
std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates);

// "a, b or c"
std::string join_words(std::span<const std::string_view> words);

}  // namespace weir::config
