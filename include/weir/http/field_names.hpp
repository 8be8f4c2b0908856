// SPDX-License-Identifier: Apache-2.0
// A set of field names, for asking whether a message's fields are in it. Immutable.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "weir/http/field_name.hpp"

namespace weir::http {

// Names are gathered by their hash: asking for one that is not there, which nearly all are not, costs one
// look even where the set has a hundred names.
class FieldNames {
 public:
  FieldNames() : FieldNames(std::vector<std::string>()) {}
  // In any case and any order; equal ones count once.
  explicit FieldNames(std::vector<std::string> names);
  FieldNames(std::initializer_list<std::string> names) : FieldNames(std::vector<std::string>(names)) {}

  bool contains(const FieldName& name) const noexcept {
    const std::size_t place = place_of(name.hash());
    for (std::size_t n = first_of_[place]; n < first_of_[place + 1]; ++n) {
      if (names_[n].is(name)) return true;
    }
    return false;
  }

 private:
  struct Name {
    std::string text;
    std::uint32_t hash;
    bool is(const FieldName& other) const noexcept { return FieldName(text, hash) == other; }
  };
  static constexpr std::size_t kPlaces = 256;
  static std::size_t place_of(std::uint32_t hash) noexcept { return hash % kPlaces; }

  std::vector<Name> names_;                            // by place
  std::array<std::uint16_t, kPlaces + 1> first_of_{};  // [n, n + 1): where names of place n are
};

}  // namespace weir::http
