// SPDX-License-Identifier: Apache-2.0
// From bytes to a RequestHead that passed every check (RFC 9112, RFC 9110; the order of the checks is the
// order of the statuses). Works at every split of the bytes. No I/O.
#pragma once

#include <cstdint>
#include <string_view>

#include "http/head_scanner.hpp"
#include "weir/http/message.hpp"
#include "weir/http/options.hpp"

namespace weir::http {

// Why a head is refused: the status to answer with, and a word for logs and metrics.
struct Refusal {
  int status = 0;
  std::string_view reason;
};

class RequestParser {
 public:
  enum class State : std::uint8_t { incomplete, complete, refused };

  // `bytes` is everything that arrived since the last request ended; call again with the same bytes (they may
  // have moved) and more behind them. Once complete, `head`'s views point into `bytes`.
  State parse(std::string_view bytes, const ServerOptions& options, RequestHead& head);
  void reset() noexcept;

  std::size_t head_end() const noexcept { return head_end_; }  // once complete: where the body begins
  Refusal refusal() const noexcept { return refusal_; }        // once refused

 private:
  std::size_t read_lines(std::string_view bytes, const ServerOptions& options, RequestHead& head);
  State judge(RequestHead& head, const ServerOptions& options) noexcept;
  State refuse(int status, std::string_view reason) noexcept;
  State not_complete(HeadScanner::State found, std::string_view text) noexcept;
  bool read_first_line(std::string_view line, const ServerOptions& options, RequestHead& head) noexcept;
  bool check_target(RequestHead& head) noexcept;
  bool check_host(RequestHead& head) noexcept;
  bool check_framing(RequestHead& head, const ServerOptions& options) noexcept;
  bool check_expectation(RequestHead& head) noexcept;

  HeadScanner scanner_;
  std::size_t head_end_ = 0;
  Refusal refusal_;
};

// A method's enumerator.
Method method_of(std::string_view text) noexcept;
// True for what may stand in Host: a reg-name, IPv4 address or bracketed IPv6 address, and a port.
bool is_valid_host(std::string_view host) noexcept;

}  // namespace weir::http
