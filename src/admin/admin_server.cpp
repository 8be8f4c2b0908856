// SPDX-License-Identifier: Apache-2.0
#include "admin/admin_server.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <csignal>
#include <thread>

#include "admin/routes.hpp"
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

constexpr std::size_t kMaxConnections = 64;
constexpr std::uint32_t kHeaderBytes = 8 * 1024;
// What a page may do: fetch its own files and this port's data, be shown in no frame, run no text as script.
constexpr std::string_view kPagePolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'";
constexpr auto kStepTime = std::chrono::seconds(10);
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
      : options_(std::move(options)), source_(std::move(source)), acceptor_(io_), pause_(io_) {
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
      asio::co_spawn(io_, serve(std::move(socket)), [this](std::exception_ptr thrown) { ended(thrown); });
    }
  }

  // A connection that threw (Beast does for some oversized input) costs itself alone.
  void ended(std::exception_ptr thrown) {
    --connections_;
    if (thrown)
      telemetry::log_limited(telemetry::LogLevel::warn, "admin.connection", "closed by an exception");
  }

  static std::string peer_of(const tcp::socket& socket) {
    error_code gone;
    const tcp::endpoint peer = socket.remote_endpoint(gone);
    return gone ? "unknown" : peer.address().to_string() + ':' + std::to_string(peer.port());
  }

  asio::awaitable<void> serve(tcp::socket socket) {
    const std::string peer = peer_of(socket);
    beast::tcp_stream stream(std::move(socket));
    beast::flat_buffer buffer(2 * kHeaderBytes);
    for (bool keep_alive = true, first = true; keep_alive; first = false) {
      Parser parser;
      parser.header_limit(kHeaderBytes);
      parser.body_limit(kMaxBody);
      stream.expires_after(first ? kStepTime : kIdleTime);
      auto [failed, octets] = co_await http::async_read(stream, buffer, parser, kToken);
      if (failed && status_of(failed) == 0) co_return;
      Response response = failed ? refusal(status_of(failed)) : respond(parser, peer);
      keep_alive = response.keep_alive();
      stream.expires_after(kStepTime);
      auto [unsent, sent] = co_await http::async_write(stream, response, kToken);
      if (unsent) co_return;
    }
    error_code ignored;
    stream.socket().shutdown(tcp::socket::shutdown_send, ignored);
  }

  static Response refusal(int status) {
    AdminReply reply;
    reply.status = status;
    reply.body = "this request cannot be read\n";
    return response_of(std::move(reply), 11, false);
  }

  Response respond(const Parser& parser, std::string_view peer) const {
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
    request.peer = peer;
    Response response =
        response_of(answer(request, options_.token, source_), message.version(), message.keep_alive());
    if (message.method() == http::verb::head) response.body().clear();
    return response;
  }

  const AdminOptions options_;
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

void AdminServer::stop() {
  loop_.reset();
}

}  // namespace weir::admin
