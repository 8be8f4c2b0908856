// SPDX-License-Identifier: Apache-2.0
// A hash map from strings that is searched with string views, without making a string.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "base/hash.hpp"

namespace weir {

struct StringHash {
  using is_transparent = void;
  using is_avalanching = void;  // XXH3 mixes well: Boost need not mix again
  std::size_t operator()(std::string_view text) const noexcept { return stable_hash(text, process_seed()); }
};

template <class Value>
using StringMap = boost::unordered_flat_map<std::string, Value, StringHash, std::equal_to<>>;

}  // namespace weir
