// SPDX-License-Identifier: Apache-2.0
// A Stream that speaks TLS, either side. Create it on a fresh socket, call handshake() once, then use it like
// any Stream:
//
//   // upstream side
//   WEIR_CO_TRY(auto stream, begin_connect(loop, address, {context, host, sessions}));
//   co_await stream->wait(Interest::write, deadline);          // connected, or connect_error()
//   const Result<void> done = co_await stream->handshake(deadline);   // TlsError: which check failed
//
// Between calls it holds no buffer but what could not be sent (a record, 16 KiB, at most 64) or is half read.
// An end without close_notify is TlsError::truncated, not an end: a body that is delimited by the end of its
// connection may have been cut. close() says close_notify as far as it goes without waiting; reset() does
// not. One thread only.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "net/listening_socket.hpp"
#include "net/stream.hpp"
#include "net/tls_certificate.hpp"
#include "net/tls_context.hpp"
#include "net/tls_error.hpp"

namespace weir::net {

class TlsStream final : public Stream {
 public:
  // Server side of an accepted connection.
  TlsStream(EventLoop& loop, int descriptor, std::shared_ptr<const TlsServerContext> context);

  struct Client {
    std::shared_ptr<const TlsClientContext> context;
    std::string_view host;                  // what the endpoint is called: a name or an address literal
    std::shared_ptr<TlsSessions> sessions;  // to resume from; may be null
  };
  TlsStream(EventLoop& loop, int descriptor, bool connected, Client client);
  ~TlsStream() override;

  // Errors: a TlsError, or operation_canceled. A server tells its peer why with an alert. Afterwards peer()
  // is verified (if the context asks for it).
  boost::asio::awaitable<Result<void>> handshake(std::int64_t deadline_ms);

  Result<std::size_t> try_read(std::span<char> into) noexcept override;
  Result<std::size_t> try_write(std::string_view bytes) noexcept override;
  Result<std::size_t> try_write_soon(std::string_view bytes) noexcept override { return try_write(bytes); }
  bool may_read() const noexcept override { return Stream::may_read() || decrypted_; }
  void shutdown_write() noexcept override;
  bool has_unread_bytes() noexcept override;
  void close() noexcept override;

  // After the handshake:
  TlsVersion version() const noexcept;
  bool resumed() const noexcept;
  // The peer's certificate, verified; nullptr if it showed none or none was verified.
  const TlsPeer* peer() const noexcept { return peer_ ? &*peer_ : nullptr; }

  // OpenSSL's callback for sessions that a server gives (TlsClientContext).
  static int keep_session(SSL* tls, SSL_SESSION* session);

 private:
  enum class Progress : std::uint8_t { done, waits, failed };

  void attach(TlsHandle<SSL> tls);
  Progress step();
  Progress finish_handshake();
  error_code fail(int result) noexcept;
  error_code judge(int reason) const noexcept;
  Result<void> send_out() noexcept;
  void refuse_plain_text() noexcept;
  void deliver() override;

  // The transport under OpenSSL.
  static const BIO_METHOD* transport() noexcept;
  static int read_wire(BIO* bio, char* into, int size) noexcept;
  static int write_wire(BIO* bio, const char* bytes, int size) noexcept;
  static long control_wire(BIO* bio, int command, long, void*) noexcept;

  TlsHandle<SSL> tls_;
  std::shared_ptr<const TlsServerContext> server_;
  std::shared_ptr<const TlsClientContext> client_;
  std::shared_ptr<TlsSessions> sessions_;
  std::optional<TlsPeer> peer_;
  std::string unsent_;  // records the kernel did not take
  error_code failed_;   // stays
  error_code wire_;     // the socket's last error
  bool wire_ended_ = false;
  bool established_ = false;
  bool decrypted_ = false;  // OpenSSL holds bytes that try_read() has not seen
  bool ended_ = false;      // close_notify was read
  bool owes_byte_ = false;  // the last byte taken was not confirmed to the caller: it waits for unsent_
};

// As begin_connect() in net/listening_socket.hpp; handshake() follows once connected.
Result<std::unique_ptr<TlsStream>> begin_connect(EventLoop& loop, const PeerAddress& to,
                                                 TlsStream::Client client);

}  // namespace weir::net
