// SPDX-License-Identifier: Apache-2.0
// `weir health`: asks a running gateway whether it takes traffic. For container health checks, whose image
// holds no other client.
#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <iostream>

#include "app/address.hpp"
#include "app/command_line.hpp"

namespace weir::app {
namespace {

constexpr std::chrono::seconds kPatience(2);
constexpr std::string_view kHelp =
    "weir health [--admin 127.0.0.1:9901]\n"
    "  Asks the admin port of a running gateway for /readyz, for at most two seconds.\n"
    "Exit codes: 0 it takes traffic, 1 it starts or drains, 2 no answer.\n";

}  // namespace

int health_command(const std::vector<std::string>& arguments) {
  const Arguments parsed(arguments, {{"admin", 'a', true}, {"help", 'h', false}});
  if (parsed.has("help")) {
    std::cout << kHelp;
    return kGood;
  }
  const pipeline::Listener at = parse_listener(parsed.value("admin", "127.0.0.1:9901"));
  boost::asio::ip::tcp::iostream stream;
  stream.expires_after(kPatience);
  stream.connect(at.host, std::to_string(at.port));
  stream << "GET /readyz HTTP/1.1\r\nHost: weir\r\nConnection: close\r\n\r\n" << std::flush;
  std::string version;
  int status = 0;
  stream >> version >> status;
  if (!stream) {
    std::cerr << "weir: no answer from " << at.host << ':' << at.port << ": " << stream.error().message()
              << '\n';
    return kCouldNotRun;
  }
  std::cout << (status == 200 ? "ready\n" : "not ready\n");
  return status == 200 ? kGood : kFoundWrong;
}

}  // namespace weir::app
