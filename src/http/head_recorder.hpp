// SPDX-License-Identifier: Apache-2.0
// Beast's parser as a recorder of views: it checks the grammar of a whole head and stores where each part is,
// nothing else. Feed it a head that HeadScanner found complete; one recorder per message.
#pragma once

#include <boost/beast/http/basic_parser.hpp>
#include <string_view>
#include <vector>

#include "weir/http/message.hpp"

namespace weir::http {

template <bool kIsRequest>
class HeadRecorder final : public boost::beast::http::basic_parser<kIsRequest> {
  using Base = boost::beast::http::basic_parser<kIsRequest>;
  using BeastView = boost::beast::string_view;
  using BeastError = boost::beast::error_code;

 public:
  // Field views are appended to `fields`, which is cleared first.
  explicit HeadRecorder(std::vector<Field>& fields) : fields_(fields) {
    fields_.clear();
    this->body_limit(boost::none);
  }

  // True if `head`, first line to blank line, is one whole head by Beast's strict grammar. Never throws.
  bool record(std::string_view head) noexcept;

  std::string_view method;
  std::string_view target;
  std::string_view reason;
  int status = 0;
  int version = 0;  // 10 or 11

 private:
  static std::string_view view(BeastView text) noexcept { return {text.data(), text.size()}; }

  void on_request_impl(boost::beast::http::verb, BeastView method_text, BeastView target_text,
                       int version_number, BeastError&) override {
    method = view(method_text);
    target = view(target_text);
    version = version_number;
  }
  void on_response_impl(int code, BeastView reason_text, int version_number, BeastError&) override {
    status = code;
    reason = view(reason_text);
    version = version_number;
  }
  void on_field_impl(boost::beast::http::field, BeastView name, BeastView value, BeastError&) override {
    fields_.push_back({view(name), view(value)});
  }
  void on_header_impl(BeastError&) override {}
  void on_body_init_impl(const boost::optional<std::uint64_t>&, BeastError&) override {}
  std::size_t on_body_impl(BeastView, BeastError&) override { return 0; }
  void on_chunk_header_impl(std::uint64_t, BeastView, BeastError&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, BeastView, BeastError&) override { return 0; }
  void on_finish_impl(BeastError&) override {}

  std::vector<Field>& fields_;
};

extern template class HeadRecorder<true>;
extern template class HeadRecorder<false>;

}  // namespace weir::http
