// SPDX-License-Identifier: Apache-2.0
#include "app/line_difference.hpp"

#include <algorithm>
#include <cstdint>

namespace weir::app {
namespace {

using Lines = std::vector<std::string_view>;
constexpr std::size_t kMostCells = 16'000'000;

Lines lines_of(std::string_view text) {
  Lines lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

// longest[i][j]: lines that before from i on and after from j on have in common, in order.
class CommonLines {
 public:
  CommonLines(const Lines& before, const Lines& after)
      : width_(after.size() + 1), longest_((before.size() + 1) * width_, 0) {
    for (std::size_t i = before.size(); i-- > 0;) {
      for (std::size_t j = after.size(); j-- > 0;) {
        cell(i, j) = before[i] == after[j] ? at(i + 1, j + 1) + 1 : std::max(at(i + 1, j), at(i, j + 1));
      }
    }
  }
  std::uint32_t at(std::size_t i, std::size_t j) const { return longest_[i * width_ + j]; }

 private:
  std::uint32_t& cell(std::size_t i, std::size_t j) { return longest_[i * width_ + j]; }

  std::size_t width_;
  std::vector<std::uint32_t> longest_;
};

std::string shown(char sign, std::size_t number, std::string_view line) {
  return sign + std::to_string(number) + ' ' + std::string(line);
}

}  // namespace

std::vector<std::string> line_difference(std::string_view before, std::string_view after) {
  Lines old_lines = lines_of(before), new_lines = lines_of(after);
  std::size_t same = 0;
  while (same < old_lines.size() && same < new_lines.size() && old_lines[same] == new_lines[same]) ++same;
  while (old_lines.size() > same && new_lines.size() > same && old_lines.back() == new_lines.back()) {
    old_lines.pop_back();
    new_lines.pop_back();
  }
  old_lines.erase(old_lines.begin(), old_lines.begin() + static_cast<std::ptrdiff_t>(same));
  new_lines.erase(new_lines.begin(), new_lines.begin() + static_cast<std::ptrdiff_t>(same));
  const bool small = old_lines.size() * new_lines.size() <= kMostCells;
  const CommonLines common(small ? old_lines : Lines(), small ? new_lines : Lines());
  std::vector<std::string> out;
  std::size_t i = 0, j = 0;
  while (i < old_lines.size() || j < new_lines.size()) {
    const bool both = small && i < old_lines.size() && j < new_lines.size();
    if (both && old_lines[i] == new_lines[j]) {
      ++i, ++j;
    } else if (i < old_lines.size() && (!both || common.at(i + 1, j) >= common.at(i, j + 1))) {
      out.push_back(shown('-', same + i + 1, old_lines[i]));
      ++i;
    } else {
      out.push_back(shown('+', same + j + 1, new_lines[j]));
      ++j;
    }
  }
  return out;
}

}  // namespace weir::app
