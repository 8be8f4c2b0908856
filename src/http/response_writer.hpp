// SPDX-License-Identifier: Apache-2.0
// Builds one response for one client in a buffer that is kept between requests: status line, fields, framing
// for this client's version, chunks. Pure: sending is the exchange's.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "weir/http/message.hpp"

namespace weir::http {

class ResponseWriter {
 public:
  static constexpr std::size_t kKeptBytes = 128 * 1024;  // a buffer larger than that is not kept

  struct Client {
    Method method = Method::get;
    int version_minor = 1;
  };

  void begin(Client client) noexcept;

  // Status line, `field_lines` (complete), framing and Connection. `keep_alive` asks for the connection to be
  // kept; the return value says whether it is (a body until close ends it).
  enum class Persistence : std::uint8_t { close, keep_alive };
  Persistence start(int status, std::string_view reason, std::string_view field_lines, Framing body,
                    Persistence wanted);
  // Body bytes. Ignored where the response has no body; empty ones change nothing.
  void append(std::string_view bytes);
  // The same without a copy, of bytes that stay as they are until sent(): what was not sent by then is
  // copied.
  void lend(std::string_view bytes);
  // `trailers`: complete lines, sent where the client gets chunks.
  void finish(std::string_view trailers = {});
  // A complete interim head, as it is.
  void append_interim(std::string_view head) { buffer_.append(head); }

  // The head of a 101: the response is finished with it.
  void switch_protocols(std::string_view field_lines);

  // What is to be sent, what is lent behind it, and how much of both was sent.
  std::string_view pending() const noexcept { return std::string_view(buffer_).substr(sent_); }
  std::string_view lent() const noexcept { return lent_; }
  bool all_sent() const noexcept { return sent_ == buffer_.size() && lent_.empty(); }
  void sent(std::size_t bytes);
  void drop_lent() noexcept { lent_ = {}; }
  void release() noexcept;  // drops what is pending, and a buffer that grew large

  int status() const noexcept { return status_; }
  std::uint64_t body_bytes() const noexcept { return body_bytes_; }
  bool finished() const noexcept { return finished_; }

 private:
  Client client_;
  std::string buffer_;
  std::size_t sent_ = 0;
  std::string_view lent_;
  std::uint64_t body_bytes_ = 0;
  int status_ = 0;
  bool chunked_ = false;
  bool has_body_ = false;
  bool finished_ = false;
};

// The standard phrase of a status, "Unknown" for others.
std::string_view reason_phrase(int status) noexcept;

}  // namespace weir::http
