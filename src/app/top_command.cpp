// SPDX-License-Identifier: Apache-2.0
// `weir top`: who sends most and who is refused most, live in a terminal.
#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <boost/asio/ip/tcp.hpp>
#include <charconv>
#include <chrono>
#include <csignal>
#include <fstream>
#include <iostream>
#include <iterator>

#include "app/address.hpp"
#include "app/command_line.hpp"
#include "app/top_frame.hpp"

namespace weir::app {
namespace {

constexpr std::chrono::seconds kPatience(2);
constexpr ScreenSize kPipe{200, 60};
constexpr std::string_view kHelp =
    "weir top [--admin 127.0.0.1:9901] [--interval SECONDS] [--once]\n"
    "  Shows who sends most and who is refused most, by which layer, from a gateway's admin port. q ends "
    "it.\n"
    "  -a, --admin ADDRESS     of the gateway (default 127.0.0.1:9901)\n"
    "      --token-file FILE   its first line is the admin port's token\n"
    "  -i, --interval SECONDS  between two looks, 1 to 60 (default 2)\n"
    "      --once              one look without escape sequences, for scripts; also where there is no "
    "terminal\n"
    "Exit codes: 0 good, 2 no answer.\n";

volatile std::sig_atomic_t stop_asked = 0;

void ask_stop(int) {
  stop_asked = 1;
}
void look_again(int) {}

// The terminal as a screen: keys come one by one, unseen; given back as it was.
class Screen {
 public:
  Screen() {
    ::tcgetattr(STDIN_FILENO, &before_);
    termios keys = before_;
    keys.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    ::tcsetattr(STDIN_FILENO, TCSANOW, &keys);
    std::cout << "\033[?1049h\033[?25l" << std::flush;
  }
  ~Screen() {
    std::cout << "\033[?25h\033[?1049l" << std::flush;
    ::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
  }
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  static ScreenSize size() {
    winsize window{};
    if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) != 0 || window.ws_col == 0) return {};
    return {window.ws_col, window.ws_row};
  }

  static void show(const std::string& frame) {
    std::cout << "\033[H";
    for (const char c : frame) {
      if (c == '\n') {
        std::cout << "\033[K\r\n";
      } else {
        std::cout << c;
      }
    }
    std::cout << "\033[K\033[J" << std::flush;
  }

 private:
  termios before_{};
};

class AdminPort {
 public:
  AdminPort(pipeline::Listener at, std::string token) : at_(std::move(at)), token_(std::move(token)) {}

  // The body; "" after an answer other than 200, which `status` then holds. False: no answer.
  bool get(std::string_view path, std::string& body, int& status) const {
    boost::asio::ip::tcp::iostream stream;
    stream.expires_after(kPatience);
    stream.connect(at_.host, std::to_string(at_.port));
    // The admin port answers to its own address only.
    const bool is_ipv6 = at_.host.find(':') != std::string::npos;
    const std::string host = is_ipv6 ? "[" + at_.host + "]" : at_.host;
    stream << "GET " << path << " HTTP/1.1\r\nHost: " << host << ':' << at_.port
           << "\r\nConnection: close\r\n";
    if (!token_.empty()) stream << "Authorization: Bearer " << token_ << "\r\n";
    stream << "\r\n" << std::flush;
    const std::string all{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
    const std::size_t end = all.find("\r\n\r\n"), space = all.find(' ');
    if (end == std::string::npos || space > end) return false;
    std::from_chars(all.data() + space + 1, all.data() + end, status);
    body = status == 200 ? all.substr(end + 4) : std::string();
    return true;
  }

  std::string frame(ScreenSize size, std::string_view bold, std::string_view plain) const {
    std::string state, ranks;
    int status = 0;
    if (!get("/status", state, status))
      throw UsageError{"no answer from " + at_.host + ":" + std::to_string(at_.port)};
    if (status == 401) throw UsageError{"the admin port wants its token: --token-file FILE"};
    if (status != 200) throw UsageError{"the admin port answered " + std::to_string(status)};
    get("/top", ranks, status);
    return top_frame(state, ranks, size, bold, plain);
  }

 private:
  pipeline::Listener at_;
  std::string token_;
};

std::string token_of(const Arguments& parsed) {
  if (!parsed.has("token-file")) return {};
  std::ifstream file(parsed.value("token-file", ""));
  std::string token;
  if (!std::getline(file, token)) throw UsageError{"cannot read " + parsed.value("token-file", "")};
  return token;
}

int interval_of(const Arguments& parsed) {
  const std::string text = parsed.value("interval", "2");
  int seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  const bool good = error == std::errc() && end == text.data() + text.size() && seconds >= 1 && seconds <= 60;
  if (!good) throw UsageError{"--interval is 1 to 60 seconds, not '" + text + "'"};
  return seconds;
}

// False: q was typed, or the input ended. A changed window ends the wait too. `waiting` are the signals that
// are blocked while it waits: none of ours, so that one that came a moment before ends it as well.
bool wait_for_next(int seconds, const sigset_t& waiting) {
  pollfd keys{STDIN_FILENO, POLLIN, 0};
  const timespec patience{seconds, 0};
  if (::ppoll(&keys, 1, &patience, &waiting) <= 0) return true;
  char key = 0;
  return ::read(STDIN_FILENO, &key, 1) == 1 && key != 'q';
}

void watch(const AdminPort& port, int seconds) {
  sigset_t ours, before;
  sigemptyset(&ours);
  for (const int signal : {SIGINT, SIGTERM, SIGWINCH}) sigaddset(&ours, signal);
  ::sigprocmask(SIG_BLOCK, &ours, &before);
  struct sigaction action{};
  action.sa_handler = ask_stop;
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
  action.sa_handler = look_again;
  ::sigaction(SIGWINCH, &action, nullptr);
  const Screen screen;
  do {
    Screen::show(port.frame(Screen::size(), "\033[1m", "\033[0m"));
  } while (wait_for_next(seconds, before) && stop_asked == 0);
}

}  // namespace

int top_command(const std::vector<std::string>& arguments) {
  const Arguments parsed(arguments, {{"admin", 'a', true},
                                     {"token-file", 0, true},
                                     {"interval", 'i', true},
                                     {"once", 0, false},
                                     {"help", 'h', false}});
  if (parsed.has("help")) {
    std::cout << kHelp;
    return kGood;
  }
  const AdminPort port(parse_listener(parsed.value("admin", "127.0.0.1:9901")), token_of(parsed));
  const int seconds = interval_of(parsed);
  if (parsed.has("once") || ::isatty(STDOUT_FILENO) == 0 || ::isatty(STDIN_FILENO) == 0) {
    std::cout << port.frame(kPipe, "", "") << '\n';
  } else {
    watch(port, seconds);
  }
  return kGood;
}

}  // namespace weir::app
