// SPDX-License-Identifier: Apache-2.0
// Request heads and a scratch for the tests of this folder.
#pragma once

#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "identity/addresses.hpp"
#include "identity/extractor.hpp"
#include "identity/path_table.hpp"
#include "weir/http/message.hpp"

namespace weir::identity::test {

// `target` and `fields` must be literals, or outlive the head.
inline http::RequestHead head_of(std::string_view target, std::vector<http::Field> fields = {},
                                 std::string_view method = "GET") {
  http::RequestHead head;
  head.method_text = method;
  head.target = target;
  const auto question = target.find('?');
  head.path = target.substr(0, question);
  if (question != target.npos) head.query = target.substr(question + 1);
  head.authority = "gateway.test";
  head.fields = std::move(fields);
  return head;
}

class KeepingScratch final : public Scratch {
 public:
  std::string_view keep(std::string_view text) override { return kept_.emplace_back(text); }

 private:
  std::deque<std::string> kept_;
};

inline Address address(std::string_view text) {
  return *parse_address(text);
}

inline Cidr block(std::string_view text) {
  std::string why;
  return *parse_cidr(text, why);
}

inline PathPattern pattern(std::string_view text) {
  std::string why;
  return *parse_path_pattern(text, why);
}

}  // namespace weir::identity::test
