// SPDX-License-Identifier: Apache-2.0
#include "http/response_writer.hpp"

#include <boost/beast/http/status.hpp>

#include "http/chunk_encoder.hpp"

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

  buffer_ += "HTTP/1.1 ";
  append_number(buffer_, static_cast<std::uint64_t>(status));
  buffer_ += ' ';
  buffer_ += reason;
  buffer_ += "\r\n";
  buffer_ += field_lines;
  if (chunked_) {
    buffer_ += "Transfer-Encoding: chunked\r\n";
  } else if (body.kind == BodyKind::length && (may_have_body || status == 304)) {
    // Also for HEAD and 304, where it tells the length that GET would have had.
    buffer_ += "Content-Length: ";
    append_number(buffer_, body.length);
    buffer_ += "\r\n";
  } else if (body.kind == BodyKind::none && may_have_body && client_.method != Method::head) {
    buffer_ += "Content-Length: 0\r\n";
  }
  if (wanted == Persistence::close) {
    buffer_ += "Connection: close\r\n";
  } else if (client_.version_minor == 0) {
    buffer_ += "Connection: keep-alive\r\n";
  }
  buffer_ += "\r\n";
  return wanted;
}

void ResponseWriter::append(std::string_view bytes) {
  if (!has_body_ || bytes.empty()) return;  // an empty chunk would end the body
  body_bytes_ += bytes.size();
  if (chunked_) {
    append_chunk(buffer_, bytes);
  } else {
    buffer_ += bytes;
  }
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

void ResponseWriter::sent(std::size_t bytes) noexcept {
  sent_ += bytes;
  if (sent_ < buffer_.size()) return;
  buffer_.clear();
  sent_ = 0;
}

void ResponseWriter::release() noexcept {
  buffer_.clear();
  sent_ = 0;
  if (buffer_.capacity() > kKeptBytes) std::string().swap(buffer_);
}

}  // namespace weir::http
