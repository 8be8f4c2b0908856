// SPDX-License-Identifier: Apache-2.0
#include "config/watcher.hpp"

#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <filesystem>
#include <set>

namespace weir::config {

namespace {

constexpr std::chrono::milliseconds kSettle{100};
constexpr std::chrono::seconds kPoll{1};
constexpr std::uint32_t kEvents = IN_CLOSE_WRITE | IN_MODIFY | IN_CREATE | IN_DELETE | IN_MOVED_FROM |
                                  IN_MOVED_TO | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF;
constexpr int kMostLinks = 16;

// What tells one state of a file from another without reading it.
struct Print {
  bool exists = false;
  dev_t device = 0;
  ino_t inode = 0;
  off_t size = 0;
  std::int64_t changed_s = 0;
  std::int64_t changed_ns = 0;
  bool operator==(const Print&) const = default;
};

Print print_of(const std::string& path) {
  struct stat about{};
  if (::stat(path.c_str(), &about) != 0) return {};
  return {true, about.st_dev, about.st_ino, about.st_size, about.st_mtim.tv_sec, about.st_mtim.tv_nsec};
}

// The directories where an event can change what `path` leads to: its own, and that of every link on the way.
void add_directories(const std::string& path, std::set<std::string>& out) {
  std::filesystem::path here(path);
  for (int links = 0; links < kMostLinks; ++links) {
    const std::filesystem::path directory = here.has_parent_path() ? here.parent_path() : ".";
    out.insert(directory.string());
    std::error_code failure;
    // A link may also be a directory on the way (..data -> ..2026_11_29), so every part is looked at.
    std::filesystem::path walked;
    std::filesystem::path next;
    for (const std::filesystem::path& part : here) {
      const std::filesystem::path parent = walked;
      walked /= part;
      if (!next.empty()) {
        next /= part;
        continue;
      }
      if (!std::filesystem::is_symlink(walked, failure)) continue;
      out.insert(parent.empty() ? "." : parent.string());
      const std::filesystem::path target = std::filesystem::read_symlink(walked, failure);
      next = target.is_absolute() ? target : parent / target;
    }
    if (next.empty()) return;
    here = next.lexically_normal();
  }
}

}  // namespace

struct Watcher::State : std::enable_shared_from_this<State> {
  State(boost::asio::io_context& context, std::function<void()> changed_)
      : events(context), settle(context), poll(context), changed(std::move(changed_)) {}

  void start() {
    const int number = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (number >= 0) events.assign(number);
    if (number >= 0) read_events();
    look();
  }

  void watch(const std::vector<std::string>& names) {
    // What was watched already keeps the state it had before it was read, so that a change in between shows.
    std::vector<Print> kept;
    for (const std::string& name : names) {
      const auto known = std::find(files.begin(), files.end(), name);
      const bool is_known = known != files.end();
      kept.push_back(is_known ? prints[static_cast<std::size_t>(known - files.begin())] : print_of(name));
    }
    files = names;
    prints = std::move(kept);
    rearm();
  }

  // Directories may have come, gone or been replaced: start from the names again.
  void rearm() {
    if (!events.is_open()) return;
    for (const int number : watches) ::inotify_rm_watch(events.native_handle(), number);
    watches.clear();
    std::set<std::string> directories;
    for (const std::string& name : files) add_directories(name, directories);
    for (const std::string& directory : directories) {
      const int number = ::inotify_add_watch(events.native_handle(), directory.c_str(), kEvents);
      if (number >= 0) watches.push_back(number);
    }
  }

  void read_events() {
    auto self = shared_from_this();
    events.async_read_some(boost::asio::buffer(buffer),
                           [self](boost::system::error_code failure, std::size_t) {
                             if (failure || self->stopped) return;
                             self->wait_until_settled();
                             self->read_events();
                           });
  }

  // Each event starts the pause anew; one pause at most per second of steady change, because the poll looks
  // too.
  void wait_until_settled() {
    auto self = shared_from_this();
    settle.expires_after(kSettle);
    settle.async_wait([self](boost::system::error_code failure) {
      if (!failure && !self->stopped) self->compare();
    });
  }

  void look() {
    auto self = shared_from_this();
    poll.expires_after(kPoll);
    poll.async_wait([self](boost::system::error_code failure) {
      if (failure || self->stopped) return;
      self->compare();
      self->look();
    });
  }

  // Calls back if any file is another than before. Events about neighbours end here.
  void compare() {
    std::vector<Print> now;
    for (const std::string& name : files) now.push_back(print_of(name));
    if (now == prints) return;
    prints = std::move(now);
    rearm();
    changed();
  }

  void stop() {
    stopped = true;
    boost::system::error_code ignored;
    events.close(ignored);
    settle.cancel();
    poll.cancel();
  }

  boost::asio::posix::stream_descriptor events;
  boost::asio::steady_timer settle;
  boost::asio::steady_timer poll;
  std::function<void()> changed;
  std::vector<std::string> files;
  std::vector<Print> prints;
  std::vector<int> watches;
  std::array<char, 16 * 1024> buffer{};
  bool stopped = false;
};

Watcher::Watcher(boost::asio::io_context& context, std::function<void()> changed)
    : state_(std::make_shared<State>(context, std::move(changed))) {
  state_->start();
}

Watcher::~Watcher() {
  stop();
}

void Watcher::watch(const std::vector<std::string>& files) {
  state_->watch(files);
}

void Watcher::stop() {
  state_->stop();
}

}  // namespace weir::config
