// SPDX-License-Identifier: Apache-2.0
#include "http/response_writer.hpp"

#include <algorithm>
#include <boost/beast/http/status.hpp>
#include <utility>

#include "http/chunk_encoder.hpp"
#include "weir/base/append.hpp"

namespace weir::http {
std::string_view reason_phrase(int status) noexcept {
  const auto text = boost::beast::http::obsolete_reason(static_cast<boost::beast::http::status>(status));
  return text.starts_with("<unknown") ? std::string_view("Unknown")
                                      : std::string_view(text.data(), text.size());
}

void ResponseWriter::begin(Client client) noexcept {
  client_ = client;
  body_bytes_ = 0;
  status_ = 0;
  chunked_ = has_body_ = finished_ = false;
}

ResponseWriter::Persistence ResponseWriter::start(int status, std::string_view reason,
                                                  std::string_view field_lines, Framing body,
                                                  Persistence wanted) {
  status_ = status;
  const bool may_have_body = status != 204 && status != 304 && status >= 200;
  has_body_ = may_have_body && client_.method != Method::head && body.kind != BodyKind::none;
  const bool streamed = body.kind == BodyKind::chunked || body.kind == BodyKind::until_close;
  chunked_ = has_body_ && streamed && client_.version_minor >= 1;
  if (has_body_ && streamed && !chunked_) wanted = Persistence::close;

  // Also for HEAD and 304, where it tells the length that GET would have had.
  const bool tells_length = !chunked_ && body.kind == BodyKind::length && (may_have_body || status == 304);
  const bool tells_none = body.kind == BodyKind::none && may_have_body && client_.method != Method::head;
  const std::string_view framing = chunked_       ? "Transfer-Encoding: chunked\r\n"
                                   : tells_length ? "Content-Length: "
                                   : tells_none   ? "Content-Length: 0\r\n"
                                                  : "";
  const Digits<> length(body.length);
  const bool told = wanted == Persistence::close || client_.version_minor == 0;
  const std::string_view connection = !told                          ? "\r\n"
                                      : wanted == Persistence::close ? "Connection: close\r\n\r\n"
                                                                     : "Connection: keep-alive\r\n\r\n";
  weir::append(buffer_, "HTTP/1.1 ", status, " ", reason, "\r\n", field_lines, framing,
               tells_length ? std::string_view(length) : "", tells_length ? "\r\n" : "", connection);
  return wanted;
}

void ResponseWriter::append(std::string_view bytes) {
  if (!has_body_ || bytes.empty()) return;  // an empty chunk would end the body
  buffer_ += std::exchange(lent_, {});
  body_bytes_ += bytes.size();
  if (chunked_) {
    append_chunk(buffer_, bytes);
  } else {
    buffer_ += bytes;
  }
}

void ResponseWriter::lend(std::string_view bytes) {
  if (!has_body_ || chunked_) return append(bytes);
  body_bytes_ += bytes.size();
  buffer_ += std::exchange(lent_, bytes);
}

void ResponseWriter::finish(std::string_view trailers) {
  if (chunked_ && !finished_) append_last_chunk(buffer_, trailers);
  finished_ = true;
}

void ResponseWriter::switch_protocols(std::string_view field_lines) {
  status_ = 101;
  buffer_ += "HTTP/1.1 101 Switching Protocols\r\n";
  buffer_ += field_lines;
  buffer_ += "\r\n";
  finished_ = true;
}

void ResponseWriter::sent(std::size_t bytes) {
  const std::size_t own = std::min(bytes, buffer_.size() - sent_);
  sent_ += own;
  if (sent_ == buffer_.size()) {
    buffer_.clear();
    sent_ = 0;
  }
  buffer_ += std::exchange(lent_, {}).substr(bytes - own);
}

void ResponseWriter::release() noexcept {
  buffer_.clear();
  lent_ = {};
  sent_ = 0;
  if (buffer_.capacity() > kKeptBytes) std::string().swap(buffer_);
}

}  // namespace weir::http
