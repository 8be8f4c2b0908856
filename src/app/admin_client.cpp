// SPDX-License-Identifier: Apache-2.0
#include "app/admin_client.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <fstream>
#include <iterator>

#include "app/address.hpp"

namespace weir::app {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;
using Request = http::request<http::empty_body>;
using TlsStream = asio::ssl::stream<beast::tcp_stream>;

constexpr std::chrono::seconds kPatience(2);
constexpr std::string_view kTls = "https://", kPlain = "http://";
constexpr auto kToken = asio::as_tuple(asio::use_awaitable);

net::TlsFile read_file(const std::string& name) {
  std::ifstream file(name, std::ios::binary);
  if (!file) throw UsageError{"cannot read " + name};
  return {name, {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()}};
}

std::string read_token(const std::string& name) {
  const std::string bytes = read_file(name).bytes;
  return bytes.substr(0, bytes.find_first_of("\r\n"));
}

std::shared_ptr<const net::TlsClientContext> make_tls(const Arguments& parsed) {
  net::TlsClientOptions options;
  options.server_name = parsed.value("server-name", "");
  if (parsed.has("ca")) options.ca = read_file(parsed.value("ca", ""));
  if (parsed.has("cert") != parsed.has("key")) throw UsageError{"--cert and --key belong together"};
  std::string why;
  if (parsed.has("cert")) {
    const net::TlsFile certificate = read_file(parsed.value("cert", "")),
                       key = read_file(parsed.value("key", ""));
    options.certificate = net::TlsCertificate::load(certificate, key, {}, why);
    if (options.certificate == nullptr) throw UsageError{why};
  }
  auto made = net::TlsClientContext::make(std::move(options), why);
  if (made == nullptr) throw UsageError{why};
  return made;
}

template <class Stream>
asio::awaitable<Result<AdminClient::Answer>> exchange(Stream& stream, const Request& request) {
  const auto [unsent, sent] = co_await http::async_write(stream, request, kToken);
  if (unsent) co_return unsent;
  beast::flat_buffer buffer;
  http::response<http::string_body> response;
  const auto [failed, octets] = co_await http::async_read(stream, buffer, response, kToken);
  if (failed) co_return failed;
  co_return AdminClient::Answer{static_cast<int>(response.result_int()), std::move(response.body())};
}

asio::awaitable<Result<AdminClient::Answer>> ask(const pipeline::Listener& at,
                                                 const net::TlsClientContext* context,
                                                 const Request& request) {
  const auto executor = co_await asio::this_coro::executor;
  tcp::resolver resolver(executor);
  auto found = co_await resolver.async_resolve(at.host, std::to_string(at.port), kToken);
  if (std::get<0>(found)) co_return std::get<0>(found);
  beast::tcp_stream plain(executor);
  plain.expires_after(kPatience);
  const auto& addresses = std::get<1>(found);
  auto connected = co_await plain.async_connect(addresses, kToken);
  if (std::get<0>(connected)) co_return std::get<0>(connected);
  if (context == nullptr) co_return co_await exchange(plain, request);
  net::TlsHandle<SSL> tls = context->open(at.host);
  if (tls == nullptr) co_return make_error_code(boost::system::errc::invalid_argument);
  TlsStream stream(std::move(plain), tls.release());
  const auto [refused] = co_await stream.async_handshake(TlsStream::client, kToken);
  if (refused) co_return refused;
  co_return co_await exchange(stream, request);
}

}  // namespace

std::vector<Arguments::Option> AdminClient::options(std::vector<Arguments::Option> own) {
  own.insert(own.begin(), {{"admin", 'a', true},
                           {"token-file", 0, true},
                           {"ca", 0, true},
                           {"cert", 0, true},
                           {"key", 0, true},
                           {"server-name", 0, true}});
  return own;
}

AdminClient::AdminClient(const Arguments& parsed) {
  std::string address = parsed.value("admin", "127.0.0.1:9901");
  bool speaks_tls = address.starts_with(kTls);
  for (const char* option : {"ca", "cert", "key", "server-name"}) speaks_tls |= parsed.has(option);
  if (speaks_tls && address.starts_with(kPlain))
    throw UsageError{"'" + address + "' is plain, write https://"};
  for (const std::string_view scheme : {kTls, kPlain}) {
    if (address.starts_with(scheme)) address.erase(0, scheme.size());
  }
  if (address.ends_with('/')) address.pop_back();
  at_ = parse_listener(address);
  place_ = address;
  if (parsed.has("token-file")) token_ = read_token(parsed.value("token-file", ""));
  if (speaks_tls) tls_ = make_tls(parsed);
}

Result<AdminClient::Answer> AdminClient::get(std::string_view path) const {
  Request request(http::verb::get, beast::string_view(path.data(), path.size()), 11);
  // The admin port answers to its own address only.
  request.set(http::field::host, place_);
  request.set(http::field::connection, "close");
  if (!token_.empty()) request.set(http::field::authorization, "Bearer " + token_);
  asio::io_context io(1);
  Result<Answer> answer = make_error_code(boost::system::errc::timed_out);
  asio::co_spawn(io, ask(at_, tls_.get(), request),
                 [&answer](const std::exception_ptr&, Result<Answer> got) { answer = std::move(got); });
  io.run();
  return answer;
}

}  // namespace weir::app
