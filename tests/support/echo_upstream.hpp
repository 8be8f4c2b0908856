// SPDX-License-Identifier: Apache-2.0
// A real HTTP/1.1 upstream on a loopback port, one blocking thread per connection. By default it answers each
// request with 200 and a description of what it got; a script can answer with any bytes instead.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace weir::test {

class EchoUpstream {
 public:
  struct Request {
    std::string head;
    std::string body;  // decoded
    std::string method() const { return head.substr(0, head.find(' ')); }
    std::string field(std::string_view name) const;
  };
  // One connection, for scripts.
  class Wire {
   public:
    explicit Wire(int descriptor) : descriptor_(descriptor) {}
    bool send(std::string_view bytes);
    // Reads a request's head; false at the end of the connection.
    bool read_head(Request& request);
    // Reads the body that belongs to the head.
    bool read_body(Request& request);
    std::string read_some();  // "" at the end or on reset
    void half_close();        // sends no more, still reads
    void reset();             // closes so that the peer sees a reset
    int served = 0;           // requests answered on this connection

   private:
    bool fill();
    std::string take(std::size_t bytes);
    std::string take_line();
    int descriptor_;
    std::string buffer_;
  };
  // Answers one request whose head was read; false closes the connection.
  using Script = std::function<bool(Wire&, Request&)>;

  EchoUpstream();
  explicit EchoUpstream(Script script);
  ~EchoUpstream();
  EchoUpstream(const EchoUpstream&) = delete;
  EchoUpstream& operator=(const EchoUpstream&) = delete;

  std::uint16_t port() const noexcept { return port_; }
  int connections() const noexcept { return connections_; }  // accepted so far
  int open() const noexcept { return open_; }
  int requests() const noexcept { return requests_; }  // heads read so far
  std::vector<Request> seen();                         // of the default answer

  // 200, with the request's body as the answer's, or its head where it has none. Keeps the connection.
  static bool answer(Wire& wire, Request& request);

 private:
  void serve(int descriptor);

  Script script_;
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::atomic<int> connections_{0};
  std::atomic<int> open_{0};
  std::atomic<int> requests_{0};
  std::atomic<bool> stopping_{false};
  std::mutex mutex_;
  std::vector<int> descriptors_;
  std::vector<std::thread> threads_;
  std::vector<Request> seen_;
  std::thread acceptor_;
};

}  // namespace weir::test
