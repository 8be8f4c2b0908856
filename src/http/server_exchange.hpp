// SPDX-License-Identifier: Apache-2.0
// The Exchange of a client connection. Between requests it lies in the worker's pool; a connection takes one
// when the first byte of a head arrives. It owns the bytes of the head (all views point there), what arrived
// behind it, and the response being built.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <memory_resource>
#include <string>

#include "http/body_pace.hpp"
#include "http/body_reader.hpp"
#include "http/exchange_pool.hpp"
#include "http/request_parser.hpp"
#include "http/response_writer.hpp"
#include "http/send_pace.hpp"
#include "http/tunnel.hpp"
#include "net/listening_socket.hpp"
#include "net/stream.hpp"
#include "weir/http/error.hpp"
#include "weir/http/exchange.hpp"
#include "weir/http/options.hpp"

namespace weir::net {
class TlsStream;
}

namespace weir::http {

class ServerExchange final : public Exchange {
 public:
  // What an exchange needs to know of the connection it serves; all outlive it.
  struct Downstream {
    net::Stream* stream = nullptr;
    const net::TlsStream* tls = nullptr;  // `stream`, if it is one
    const net::PeerAddress* peer = nullptr;
    const ServerOptions* options = nullptr;
    const bool* draining = nullptr;
    std::atomic<std::int64_t>* open_tunnels = nullptr;
  };

  ServerExchange(net::EventLoop& loop, ExchangePool& pool);

  // --- for the connection ---------------------------------------------------------------------------------
  void attach(const Downstream& downstream) noexcept { downstream_ = downstream; }
  void take_bytes(std::string_view bytes) { in_.append(bytes); }
  bool has_bytes() const noexcept { return !in_.empty(); }
  RequestParser::State parse();
  Refusal refusal() const noexcept { return parser_.refusal(); }
  void begin();  // the head is complete
  // Answers a head that was refused, or that never came whole (408).
  boost::asio::awaitable<void> refuse(int status);
  // After the handler: true if the response is complete and sent, and the whole request was read.
  bool settled() const noexcept;
  // Otherwise: sends and reads what is left within bounds.
  boost::asio::awaitable<void> settle();
  bool may_persist() const noexcept {
    return settled() && persistence_ == ResponseWriter::Persistence::keep_alive;
  }
  // Makes it ready for the next request; bytes that arrived behind this one stay.
  void next() noexcept;
  void detach() noexcept;  // after next()
  void lose_client() noexcept;
  void call_canceller();

  // --- Exchange
  // ---------------------------------------------------------------------------------------------
  const RequestHead& request() const noexcept override { return head_; }
  const boost::asio::ip::address& peer_address() const noexcept override { return downstream_.peer->address; }
  std::uint16_t peer_port() const noexcept override { return downstream_.peer->port; }
  bool secure() const noexcept override { return downstream_.tls != nullptr; }
  std::string_view tls_version() const noexcept override;
  const net::TlsPeer* client_certificate() const noexcept override;
  std::int64_t started_ms() const noexcept override { return started_ms_; }
  std::string_view keep(std::string_view text) override;
  Result<std::string_view> take_buffered_body() override;
  bool body_complete() const noexcept override { return body_.done(); }
  boost::asio::awaitable<Result<std::string_view>> read_body() override;
  void interrupt_body() override;
  boost::asio::awaitable<void> reply(const LocalReply& reply) override;
  boost::asio::awaitable<Result<void>> send_interim(std::string_view head) override;
  void start_response(int status, std::string_view reason, std::string_view field_lines,
                      Framing body) override;
  void append_body(std::string_view bytes) override { writer_.append(bytes); }
  void lend_body(std::string_view bytes) override;
  void finish_body(std::string_view trailers) override { writer_.finish(trailers); }
  using Exchange::finish_body;
  std::string_view request_trailers() const noexcept override { return trailers_; }
  boost::asio::awaitable<Result<void>> flush() override;
  Result<bool> flush_now() override;
  boost::asio::awaitable<Ending> tunnel(const Switch& to, net::Stream& upstream) override;
  void abort() noexcept override;
  bool response_started() const noexcept override { return writer_.status() != 0; }
  void set_canceller(Canceller canceller) override;
  void clear_canceller() noexcept override;
  bool client_gone() const noexcept override { return client_gone_; }
  int status() const noexcept override { return writer_.status(); }
  std::uint64_t bytes_received() const noexcept override { return received_; }
  std::uint64_t bytes_sent() const noexcept override { return writer_.body_bytes() + tunnel_sent_; }
  Ending ending() const noexcept override { return ending_; }

 private:
  static constexpr std::uint64_t kDrainedBytes =
      64 * 1024;  // a rest that short is read to keep the connection
  static constexpr std::size_t kKeptBytes = 128 * 1024;
  static constexpr std::size_t kLentBytes = 4 * 1024;  // shorter pieces are copied: their send is put off
  enum class Reading : std::uint8_t { bytes, would_block, ended };

  Result<std::string_view> try_body();
  Result<std::string_view> decode(char* data, std::size_t size, std::size_t& consumed);
  error_code fail_body(Error error) noexcept;
  void send_continue() noexcept;
  std::int64_t deadline(std::chrono::milliseconds limit) const noexcept;
  std::int64_t body_deadline(std::int64_t idle_since_ms) const noexcept;
  bool total_time_is_over() const noexcept;
  std::int64_t send_deadline() noexcept;
  bool takes_too_long(net::Wake wake) noexcept;
  ResponseWriter::Persistence persistence_now() const noexcept;
  void build_reply(int status, const LocalReply& reply, ResponseWriter::Persistence wanted);
  boost::asio::awaitable<void> drain_rest();
  boost::asio::awaitable<void> linger();
  Result<std::size_t> write_now() noexcept;
  net::Wake judge_wait(net::Wake wake, std::int64_t idle_since_ms) noexcept;
  void end_tunnel(const Tunnel& tunnel, Tunnel::End end) noexcept;
  void on_client_event();
  void on_half_close_timer();
  void on_total_timer();

  net::EventLoop& loop_;
  ExchangePool& pool_;
  Downstream downstream_;

  std::string in_;                 // head, and what arrived with it
  std::size_t in_used_ = 0;        // of in_: head and body bytes handed out
  std::unique_ptr<char[]> block_;  // later body bytes are read into it
  std::size_t block_used_ = 0;
  std::size_t block_size_ = 0;
  RequestParser parser_;
  RequestHead head_;
  BodyReader body_;
  std::string trailers_;  // of the request
  BodyPace pace_;
  SendPace send_pace_;
  error_code body_error_;
  std::uint64_t received_ = 0;
  std::uint64_t tunnel_sent_ = 0;
  Tunnel* tunnel_ = nullptr;  // open
  std::int64_t started_ms_ = 0;
  std::int64_t total_deadline_ms_ = 0;  // 0: none

  ResponseWriter writer_;
  std::string reply_fields_;
  ResponseWriter::Persistence persistence_ = ResponseWriter::Persistence::close;

  Canceller canceller_;
  net::Timer half_close_timer_;
  net::Timer total_timer_;
  Ending ending_ = Ending::complete;
  bool waits_for_body_ = false;
  bool interrupted_ = false;
  bool wants_continue_ = false;
  bool client_gone_ = false;
  bool aborted_ = false;
  bool tunneled_ = false;

  std::array<std::byte, 1024> arena_first_;
  std::pmr::monotonic_buffer_resource arena_{arena_first_.data(), arena_first_.size()};
};

}  // namespace weir::http
