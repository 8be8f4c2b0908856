// SPDX-License-Identifier: Apache-2.0
// `weir health`: asks a running gateway whether it takes traffic. For container health checks, whose image
// holds no other client.
#include <iostream>

#include "app/admin_client.hpp"
#include "app/command_line.hpp"

namespace weir::app {
namespace {

constexpr std::string_view kHelp =
    "weir health [--admin 127.0.0.1:9901]\n"
    "  Asks the admin port of a running gateway for /readyz, for at most two seconds.\n";
constexpr std::string_view kExits = "Exit codes: 0 it takes traffic, 1 it starts or drains, 2 no answer.\n";

}  // namespace

int health_command(const std::vector<std::string>& arguments) {
  const Arguments parsed(arguments, AdminClient::options({{"help", 'h', false}}));
  if (parsed.has("help")) {
    std::cout << kHelp << AdminClient::kHelp << kExits;
    return kGood;
  }
  const AdminClient port(parsed);
  const auto answer = port.get("/readyz");
  if (!answer) {
    std::cerr << "weir: no answer from " << port.place() << ": " << answer.error().message() << '\n';
    return kCouldNotRun;
  }
  std::cout << (answer->status == 200 ? "ready\n" : answer->body);
  return answer->status == 200 ? kGood : kFoundWrong;
}

}  // namespace weir::app
