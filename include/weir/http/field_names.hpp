// SPDX-License-Identifier: Apache-2.0
// A set of field names, for asking whether a message's fields are in it. Immutable.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace weir::http {

// Names are gathered by their length: most fields of a request have a length that few names share, so asking
// costs a few comparisons even where the set has a hundred names.
class FieldNames {
 public:
  FieldNames() : FieldNames(std::vector<std::string>()) {}
  // In any case and any order; equal ones count once.
  explicit FieldNames(std::vector<std::string> names);
  FieldNames(std::initializer_list<std::string> names) : FieldNames(std::vector<std::string>(names)) {}

  bool contains(std::string_view name) const noexcept;

 private:
  static constexpr std::size_t kLengths = 64;  // names of 63 octets and more are gathered in one place
  static std::size_t place_of(std::string_view name) noexcept;

  std::vector<std::string> names_;                      // by length
  std::array<std::uint16_t, kLengths + 1> first_of_{};  // [n, n + 1): where names of length n are
};

}  // namespace weir::http
