// SPDX-License-Identifier: Apache-2.0
// `weir top`: who sends most and who is refused most, live in a terminal.
#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <charconv>
#include <csignal>
#include <iostream>

#include "app/admin_client.hpp"
#include "app/command_line.hpp"
#include "app/top_frame.hpp"

namespace weir::app {
namespace {

constexpr ScreenSize kPipe{200, 60};
constexpr std::string_view kHelp =
    "weir top [--admin 127.0.0.1:9901] [--interval SECONDS] [--once]\n"
    "  Shows who sends most and who is refused most, by which layer, from a gateway's admin port. q ends "
    "it.\n";
constexpr std::string_view kOwnHelp =
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

// Throws UsageError without an answer that can be shown.
std::string frame_of(const AdminClient& port, ScreenSize size, std::string_view bold,
                     std::string_view plain) {
  const auto state = port.get("/status");
  if (!state) throw UsageError{"no answer from " + port.place() + ": " + state.error().message()};
  if (state->status == 401) throw UsageError{"the admin port wants its token: --token-file FILE"};
  if (state->status != 200) throw UsageError{"the admin port answered " + std::to_string(state->status)};
  const auto ranks = port.get("/top");
  const bool ranked = ranks && ranks->status == 200;
  return top_frame(state->body, ranked ? ranks->body : std::string(), size, bold, plain);
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

void watch(const AdminClient& port, int seconds) {
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
    Screen::show(frame_of(port, Screen::size(), "\033[1m", "\033[0m"));
  } while (wait_for_next(seconds, before) && stop_asked == 0);
}

}  // namespace

int top_command(const std::vector<std::string>& arguments) {
  const Arguments parsed(
      arguments, AdminClient::options({{"interval", 'i', true}, {"once", 0, false}, {"help", 'h', false}}));
  if (parsed.has("help")) {
    std::cout << kHelp << AdminClient::kHelp << kOwnHelp;
    return kGood;
  }
  const AdminClient port(parsed);
  const int seconds = interval_of(parsed);
  if (parsed.has("once") || ::isatty(STDOUT_FILENO) == 0 || ::isatty(STDIN_FILENO) == 0) {
    std::cout << frame_of(port, kPipe, "", "") << '\n';
  } else {
    watch(port, seconds);
  }
  return kGood;
}

}  // namespace weir::app
