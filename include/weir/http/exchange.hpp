// SPDX-License-Identifier: Apache-2.0
// One request and its response on a client connection: what the session hands to the handler, and what the
// handler and the forwarder answer through. Pooled per worker; used by one coroutine at a time.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/address.hpp>
#include <cstdint>
#include <string>
#include <string_view>

#include "weir/base/result.hpp"
#include "weir/http/message.hpp"

namespace weir::net {
class Stream;
struct TlsPeer;
}  // namespace weir::net

namespace weir::http {

// A response the gateway makes itself. Field lines are complete ("Name: value\r\n"), already escaped.
struct LocalReply {
  int status = 500;
  std::string_view content_type = "text/plain; charset=utf-8";
  std::string_view field_lines;
  std::string_view body;
  bool close = false;  // close the connection after it
};

// Why an exchange ended, for logs and metrics.
enum class Ending : std::uint8_t { complete, client_gone, upstream_failed, timed_out, aborted };

class Exchange {
 public:
  static constexpr std::int64_t kHalfCloseGraceMs = 1000;

  virtual ~Exchange() = default;

  // --- the request -------------------------------------------------------------------------------------
  virtual const RequestHead& request() const noexcept = 0;
  // Of the connection: the TCP peer, or whom it named (PROXY protocol).
  virtual const boost::asio::ip::address& peer_address() const noexcept = 0;
  virtual std::uint16_t peer_port() const noexcept = 0;
  virtual bool secure() const noexcept = 0;                             // came in over TLS
  virtual std::string_view tls_version() const noexcept { return {}; }  // "TLSv1.3"; "" unless secure()
  // The client's verified certificate (net/tls_certificate.hpp); nullptr if it showed none.
  virtual const net::TlsPeer* client_certificate() const noexcept { return nullptr; }
  virtual std::int64_t started_ms() const noexcept = 0;  // monotonic, when the head was complete

  // Copies `text` into the exchange's own arena; the view lives until the exchange ends.
  virtual std::string_view keep(std::string_view text) = 0;

  // Body bytes that have already arrived, decoded, without waiting (possibly none); consumes them. Views are
  // valid until the next call. `complete` is true once the whole body has been handed out.
  virtual Result<std::string_view> take_buffered_body() = 0;
  virtual bool body_complete() const noexcept = 0;
  // Waits for more body; an empty view is the end. Sends "100 Continue" first if the client waits for it.
  // Errors (weir/http/error.hpp): client gone, framing broken, body above its limit, idle time over,
  // interrupted.
  virtual boost::asio::awaitable<Result<std::string_view>> read_body() = 0;
  // Trailer lines of the body ("Name: value\r\n"), as they came, checked for syntax only; once
  // body_complete(). Never part of request().fields.
  virtual std::string_view request_trailers() const noexcept { return {}; }
  // Makes a waiting read_body() return Error::interrupted, now; without one, nothing happens. For a forwarder
  // that sees an early answer while it waits for the client's body.
  virtual void interrupt_body() {}

  // --- the response ------------------------------------------------------------------------------------
  // Sends a whole local reply. Discards what is left of the request body (bounded lingering close) so that a
  // client still sending can read it. HEAD gets no body. Call once, instead of the calls below.
  virtual boost::asio::awaitable<void> reply(const LocalReply& reply) = 0;

  // An interim (1xx) response; nothing is sent to HTTP/1.0 clients. `head` is the status line and fields.
  virtual boost::asio::awaitable<Result<void>> send_interim(std::string_view head) = 0;

  // Starts a streamed response: buffers the status line and `field_lines` (no framing fields, no Connection:
  // the exchange adds them for this client's version). `body` says how the body will be delimited.
  virtual void start_response(int status, std::string_view reason, std::string_view field_lines,
                              Framing body) = 0;
  // Buffers body bytes (chunk-encoding them if the client gets chunks). Copies; never waits.
  virtual void append_body(std::string_view bytes) = 0;
  // The same of bytes that stay as they are until the next call of this interface but finish_body(): what the
  // client takes at once need not be copied.
  virtual void lend_body(std::string_view bytes) { append_body(bytes); }
  // Marks the end of the body (last chunk). The next flush completes the response. `trailers` (complete
  // lines) go along where the client can get them, and are dropped elsewhere.
  virtual void finish_body(std::string_view trailers) = 0;
  void finish_body() { finish_body({}); }
  // Sends everything buffered: one non-blocking send, waiting only if the client reads slowly.
  virtual boost::asio::awaitable<Result<void>> flush() = 0;
  // The same as far as it goes without waiting: true if everything is sent, false if flush() has to wait for
  // the rest. Spares most responses a coroutine.
  virtual Result<bool> flush_now() { return false; }
  // Switches protocols: sends a 101, then passes bytes both ways between the client and `upstream` as they
  // are until the tunnel ends; the client's connection is closed then, `upstream` is left to the caller. What
  // the client had sent behind its request goes first by itself. Time limits but
  // ServerOptions::tunnel_idle_timeout do not apply. interrupt_body() ends it. A WebSocket that idles or is
  // ended tells both sides so (1001), if it is between two frames. Returns ending(). Call once, instead of
  // the calls above.
  struct Switch {
    std::string_view protocol;     // in lower case
    std::string_view field_lines;  // of the 101, Upgrade and Connection among them
    std::string_view early;        // what the upstream had sent behind its 101
  };
  virtual boost::asio::awaitable<Ending> tunnel(const Switch& to, net::Stream& upstream) = 0;
  // The response cannot be completed: the client must be able to tell (reset or close, no last chunk).
  virtual void abort() noexcept = 0;

  virtual bool response_started() const noexcept = 0;  // bytes of a final response were buffered or sent

  // --- the client --------------------------------------------------------------------------------------
  // Calls `canceller` (at most once, on this worker's thread) if the client leaves before clear_canceller(),
  // or if the exchange's total time is over. While it is set, the exchange watches the client's socket;
  // pipelined bytes stay unread. A reset is leaving at once; a client that only ended its sending side may
  // still read, so it counts as gone
  // when no response has begun within kHalfCloseGraceMs.
  struct Canceller {
    void (*call)(void* context) = nullptr;
    void* context = nullptr;
  };
  virtual void set_canceller(Canceller canceller) = 0;
  virtual void clear_canceller() noexcept = 0;
  virtual bool client_gone() const noexcept = 0;

  // --- facts for logs and metrics ------------------------------------------------------------------------
  virtual int status() const noexcept = 0;                    // sent, 0 if none
  virtual std::uint64_t bytes_received() const noexcept = 0;  // body, or through the tunnel
  virtual std::uint64_t bytes_sent() const noexcept = 0;      // body, or through the tunnel
  virtual Ending ending() const noexcept = 0;
};

// Answers exchanges. One per worker; handle() must send exactly one response or abort, and never throws.
class Handler {
 public:
  virtual ~Handler() = default;
  virtual boost::asio::awaitable<void> handle(Exchange& exchange) = 0;

  // A request that never became an exchange (malformed head, 408, 431 ...): `status` was sent. For metrics.
  virtual void refused(int status, std::string_view reason) noexcept = 0;
};

}  // namespace weir::http
