// SPDX-License-Identifier: Apache-2.0
// A blocking TCP client that sends bytes as they are and reads responses as they come.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weir::test {

class RawClient {
 public:
  struct Response {
    int status = 0;  // 0: the connection ended before a head
    std::string head;
    std::string body;       // decoded
    bool complete = false;  // whole by its own framing
    std::string field(std::string_view name) const;
  };

  explicit RawClient(std::uint16_t port, int receive_buffer_bytes = 0);
  ~RawClient();
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  bool send(std::string_view bytes);  // false: the connection broke
  // The next response (interim ones are responses, too). `to_head`: the request was HEAD.
  enum class Request : std::uint8_t { any, head };
  Response read(Request request = Request::any);
  std::string read_some(std::size_t most);  // "" at the end
  // True if the peer closes within `ms` without sending more.
  bool closed_within(int ms);
  bool was_reset() const noexcept { return reset_; }
  bool quiet_for(int ms);  // nothing arrives and nothing ends
  void half_close();
  void reset();  // closes so that the peer sees a reset
  void close();

 private:
  bool fill();  // reads more into buffer_; false at the end
  std::string take(std::size_t bytes);
  std::string take_line();
  void read_chunked(Response& response);

  int descriptor_ = -1;
  std::string buffer_;
  bool ended_ = false;
  bool reset_ = false;
};

}  // namespace weir::test
