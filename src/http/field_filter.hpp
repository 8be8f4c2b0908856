// SPDX-License-Identifier: Apache-2.0
// Which fields of a message end at this hop (RFC 9110 7.6.1): the known ones and those that Connection names.
// Pure; views into the fields it was made from.
#pragma once

#include <boost/container/static_vector.hpp>
#include <string_view>

#include "weir/http/message.hpp"

namespace weir::http {

class FieldFilter {
 public:
  static constexpr std::size_t kMaxNominations = 32;

  explicit FieldFilter(const Fields& fields) noexcept;

  // True for fields that must not be passed on. Framing, Host and other fields that give a message its
  // meaning cannot be nominated away; Content-Length and Host pass here, whoever writes the next head sets
  // them.
  bool ends_here(const Field& field) const noexcept;

  // More Connection options than anybody needs: such a message is refused rather than half filtered.
  static bool nominations_exceed_limit(const Fields& fields) noexcept;

 private:
  boost::container::static_vector<FieldName, kMaxNominations> nominated_;
};

}  // namespace weir::http
