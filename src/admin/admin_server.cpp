// SPDX-License-Identifier: Apache-2.0
#include "admin/admin_server.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <csignal>
#include <thread>

#include "admin/routes.hpp"
#include "net/tls_certificate.hpp"
#include "telemetry/log.hpp"
#include "weir/base/result.hpp"

namespace weir::admin {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;
using Response = http::response<http::string_body>;
using Parser = http::request_parser<http::string_body>;
using TlsStream = asio::ssl::stream<beast::tcp_stream>;

// Who asks, for log lines.
struct Peer {
  std::string name;
  bool over_tls = false;
};

constexpr std::size_t kMaxConnections = 64;
constexpr std::uint32_t kHeaderBytes = 8 * 1024;
// What a page may do: fetch its own files and this port's data, be shown in no frame, run no text as script.
constexpr std::string_view kPagePolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'";
constexpr auto kStepTime = std::chrono::seconds(10);
constexpr auto kFarewellTime = std::chrono::seconds(1);
constexpr auto kIdleTime = std::chrono::seconds(60);
constexpr auto kAcceptPause = std::chrono::milliseconds(100);
constexpr auto kToken = asio::as_tuple(asio::use_awaitable);

Response response_of(AdminReply reply, unsigned version, bool keep_alive) {
  Response response(static_cast<http::status>(reply.status), version);
  response.set(http::field::content_type, reply.content_type);
  response.set(http::field::cache_control, "no-store");
  response.set("X-Content-Type-Options", "nosniff");
  response.set("X-Frame-Options", "DENY");
  response.set("Content-Security-Policy", kPagePolicy);
  response.set("Cross-Origin-Resource-Policy", "same-origin");
  response.set("Referrer-Policy", "no-referrer");
  if (reply.status == 401) response.set(http::field::www_authenticate, "Bearer");
  if (!reply.allow.empty()) response.set(http::field::allow, reply.allow);
  response.keep_alive(keep_alive);
  response.content_length(reply.body.size());
  response.body() = std::move(reply.body);
  return response;
}

// What to answer to a head that could not be read; 0: nothing, close.
int status_of(const error_code& failed) {
  if (failed == http::error::header_limit || failed == http::error::buffer_overflow) return 431;
  if (failed == http::error::body_limit || failed == http::error::unexpected_body) return 413;
  const bool syntax = failed.category() == http::make_error_code(http::error::bad_method).category();
  const bool silent = failed == http::error::end_of_stream || failed == http::error::partial_message;
  return syntax && !silent ? 400 : 0;
}

std::string_view view_of(beast::string_view text) {
  return {text.data(), text.size()};
}

}  // namespace

class AdminServer::Loop {
 public:
  Loop(AdminOptions options, AdminSource source)
      : options_(std::move(options)),
        tls_(options_.tls),
        source_(std::move(source)),
        acceptor_(io_),
        pause_(io_) {
    const tcp::endpoint at(asio::ip::make_address(options_.host), options_.port);
    acceptor_.open(at.protocol());
    acceptor_.set_option(tcp::acceptor::reuse_address(true));
    acceptor_.bind(at);
    acceptor_.listen();
    port_ = acceptor_.local_endpoint().port();
    asio::co_spawn(io_, accept(), asio::detached);
    thread_ = std::thread([this] { run(); });
  }

  // What is still open closes with io_, whose handlers own it.
  ~Loop() {
    io_.stop();
    thread_.join();
  }

  std::uint16_t port() const noexcept { return port_; }

  void renew(std::shared_ptr<const net::TlsServerContext> tls) {
    if (net::tls_demands(tls.get()) != net::tls_demands(options_.tls.get())) return;
    asio::post(io_, [this, tls = std::move(tls)] { tls_ = tls; });
  }

 private:
  void run() {
    // Signals are for the control thread.
    sigset_t signals;
    sigfillset(&signals);
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);
    while (!io_.stopped()) {
      try {
        io_.run();
      } catch (const std::exception& error) {
        telemetry::log_limited(telemetry::LogLevel::error, "admin.exception", error.what());
      }
    }
  }

  asio::awaitable<void> accept() {
    for (;;) {
      tcp::socket socket(io_);
      const auto [failed] = co_await acceptor_.async_accept(socket, kToken);
      if (failed == asio::error::operation_aborted) co_return;
      if (failed) {
        // Out of descriptors, most likely: others may close some.
        pause_.expires_after(kAcceptPause);
        co_await pause_.async_wait(kToken);
        continue;
      }
      if (connections_ >= kMaxConnections) continue;
      ++connections_;
      asio::co_spawn(io_, serve(std::move(socket)),
                     [this](const std::exception_ptr& thrown) { ended(thrown); });
    }
  }

  // A connection that threw (Beast does for some oversized input) costs itself alone.
  void ended(const std::exception_ptr& thrown) {
    --connections_;
    if (thrown)
      telemetry::log_limited(telemetry::LogLevel::warn, "admin.connection", "closed by an exception");
  }

  static std::string peer_of(const tcp::socket& socket) {
    error_code gone;
    const tcp::endpoint peer = socket.remote_endpoint(gone);
    return gone ? "unknown" : peer.address().to_string() + ':' + std::to_string(peer.port());
  }

  // The certificate has been verified, or the handshake would have failed.
  static std::string subject_of(SSL* tls) {
    X509* const shown = SSL_get0_peer_certificate(tls);
    return shown == nullptr ? std::string() : " (" + net::describe_peer(shown).subject + ")";
  }

  asio::awaitable<void> serve(tcp::socket socket) {
    const std::string address = peer_of(socket);
    beast::tcp_stream plain(std::move(socket));
    const auto context = tls_;  // lives as long as what was opened under it
    if (context == nullptr) {
      const Peer peer{address, false};
      co_await converse(plain, peer);
      error_code ignored;
      plain.socket().shutdown(tcp::socket::shutdown_send, ignored);
      co_return;
    }
    net::TlsHandle<SSL> tls = context->open();
    if (tls == nullptr) co_return;
    TlsStream stream(std::move(plain), tls.release());
    beast::get_lowest_layer(stream).expires_after(kStepTime);
    const auto [failed] = co_await stream.async_handshake(TlsStream::server, kToken);
    if (failed) {
      telemetry::log_limited(telemetry::LogLevel::warn, "admin.tls", address + ": " + failed.message());
      co_return;
    }
    const Peer peer{address + subject_of(stream.native_handle()), true};
    co_await converse(stream, peer);
    beast::get_lowest_layer(stream).expires_after(kFarewellTime);
    co_await stream.async_shutdown(kToken);
  }

  // Requests and answers until one side has enough.
  template <class Stream>
  asio::awaitable<void> converse(Stream& stream, const Peer& peer) {
    beast::flat_buffer buffer(2 * kHeaderBytes);
    for (bool keep_alive = true, first = true; keep_alive; first = false) {
      Parser parser;
      parser.header_limit(kHeaderBytes);
      parser.body_limit(kMaxBody);
      beast::get_lowest_layer(stream).expires_after(first ? kStepTime : kIdleTime);
      auto [failed, octets] = co_await http::async_read(stream, buffer, parser, kToken);
      if (failed && status_of(failed) == 0) co_return;
      Response response = failed ? refusal(status_of(failed)) : respond(parser, peer);
      keep_alive = response.keep_alive();
      beast::get_lowest_layer(stream).expires_after(kStepTime);
      auto [unsent, sent] = co_await http::async_write(stream, response, kToken);
      if (unsent) co_return;
    }
  }

  static Response refusal(int status) {
    AdminReply reply;
    reply.status = status;
    reply.body = "this request cannot be read\n";
    return response_of(std::move(reply), 11, false);
  }

  Response respond(const Parser& parser, const Peer& peer) const {
    const auto& message = parser.get();
    AdminRequest request;
    request.method = view_of(message.method_string());
    request.target = view_of(message.target());
    request.authorization = view_of(message[http::field::authorization]);
    request.host = view_of(message[http::field::host]);
    request.accept = view_of(message[http::field::accept]);
    request.origin = view_of(message[http::field::origin]);
    request.fetch_site = view_of(message["Sec-Fetch-Site"]);
    request.content_type = view_of(message[http::field::content_type]);
    request.body = message.body();
    request.peer = peer.name;
    request.over_tls = peer.over_tls;
    Response response =
        response_of(answer(request, options_.token, source_), message.version(), message.keep_alive());
    if (message.method() == http::verb::head) response.body().clear();
    return response;
  }

  const AdminOptions options_;
  std::shared_ptr<const net::TlsServerContext> tls_;  // on the admin thread
  const AdminSource source_;
  asio::io_context io_{1};
  tcp::acceptor acceptor_;
  asio::steady_timer pause_;
  std::size_t connections_ = 0;
  std::uint16_t port_ = 0;
  std::thread thread_;
};

AdminServer::AdminServer(AdminOptions options, AdminSource source)
    : loop_(std::make_unique<Loop>(std::move(options), std::move(source))), port_(loop_->port()) {}
AdminServer::~AdminServer() = default;

void AdminServer::renew(std::shared_ptr<const net::TlsServerContext> tls) {
  if (loop_ != nullptr) loop_->renew(std::move(tls));
}

void AdminServer::stop() {
  loop_.reset();
}

}  // namespace weir::admin
