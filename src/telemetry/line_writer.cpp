// SPDX-License-Identifier: Apache-2.0
#include "telemetry/line_writer.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <csignal>

#include "telemetry/log.hpp"
#include "weir/base/clock.hpp"

namespace weir::telemetry {
namespace {

constexpr auto kPathCheck = std::chrono::seconds(1);
constexpr int kPollMs = 100;
constexpr int kPollsWhenStopping = 20;  // two seconds

int open_file(const std::string& path) {
  constexpr mode_t kMode = 0640;
  // Non-blocking for the sake of named pipes, whose open would wait for a reader.
  return ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, kMode);
}

error_code last_error() {
  return {errno, boost::system::system_category()};
}

}  // namespace

Result<std::unique_ptr<LineWriter>> LineWriter::open(std::string_view target) {
  if (target == "stdout")
    return std::make_unique<LineWriter>(std::string(target), STDOUT_FILENO, Ownership::borrowed);
  if (target == "stderr")
    return std::make_unique<LineWriter>(std::string(target), STDERR_FILENO, Ownership::borrowed);
  const std::string path(target);
  if (names_syslog(target)) {
    std::string why;
    if (!parse_syslog_target(target, why)) return make_error_code(boost::system::errc::invalid_argument);
    return std::make_unique<LineWriter>(path, -1, Ownership::syslog);
  }
  const int descriptor = open_file(path);
  if (descriptor < 0) return last_error();
  return std::make_unique<LineWriter>(path, descriptor, Ownership::file);
}

LineWriter::LineWriter(std::string target, int descriptor, Ownership ownership)
    : target_(std::move(target)), descriptor_(descriptor), ownership_(ownership) {
  std::string why;
  if (ownership_ == Ownership::syslog) {
    if (auto to = parse_syslog_target(target_, why)) syslog_ = std::make_unique<SyslogSocket>(*std::move(to));
  } else {
    look_at_descriptor();
  }
  thread_ = std::thread([this] { run(); });
}

LineWriter::~LineWriter() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
  if (ownership_ == Ownership::file) ::close(descriptor_);
}

bool LineWriter::submit(std::string& chunk, std::uint64_t lines) {
  if (chunk.empty()) return true;
  {
    const std::lock_guard lock(mutex_);
    if (queue_.size() < kQueueChunks) {
      queue_.push_back({std::move(chunk), lines});
      chunk = std::string();
      if (!spare_.empty()) {
        chunk = std::move(spare_.back());
        spare_.pop_back();
      }
      lines = 0;
    }
  }
  wake_.notify_one();
  if (lines == 0) return true;
  dropped_ += lines;
  chunk.clear();
  return false;
}

// False when there is nothing left to write, ever.
bool LineWriter::take(std::vector<Chunk>& out) {
  std::unique_lock lock(mutex_);
  for (Chunk& chunk : out) {
    chunk.text.clear();
    if (spare_.size() < kQueueChunks) spare_.push_back(std::move(chunk.text));
  }
  out.clear();
  wake_.wait_for(lock, kPathCheck, [this] { return stopping_ || !queue_.empty(); });
  out.swap(queue_);
  return !(stopping_ && out.empty());
}

void LineWriter::run() {
  sigset_t signals;
  sigfillset(&signals);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::vector<Chunk> chunks;
  while (take(chunks)) {
    if (ownership_ == Ownership::file) follow_path();
    if (syslog_ != nullptr && reopen_.exchange(false)) syslog_->close();
    for (const Chunk& chunk : chunks) syslog_ != nullptr ? write_to_syslog(chunk) : write(chunk);
  }
}

void LineWriter::write(const Chunk& chunk) {
  if (torn_) write_all("\n");
  if (write_all(chunk.text)) {
    torn_ = false;
    written_ += chunk.lines;
  } else {
    torn_ = true;
    dropped_ += chunk.lines;
  }
}

void LineWriter::write_to_syslog(const Chunk& chunk) {
  std::uint64_t lost = 0;
  std::string_view rest = chunk.text;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    message_.clear();
    append_syslog_message(message_, system_clock().wall_ms(), line);
    // One wait per chunk, so that a daemon that hangs holds up neither the queue nor the end.
    if (!syslog_->send(message_, lost != 0 || stopping_ ? 0 : kPollMs)) ++lost;
  }
  written_ += chunk.lines - std::min(lost, chunk.lines);
  if (lost == 0) return;
  dropped_ += lost;
  log_limited(LogLevel::warn, "log.syslog_lost", target_ + ": lines were lost; is a daemon listening there?");
}

bool LineWriter::write_all(std::string_view text) {
  // A pipe that polls writable takes PIPE_BUF octets without blocking, and promises no more.
  const std::size_t slice = regular_ ? text.size() : PIPE_BUF;
  while (!text.empty()) {
    if (!regular_ && !wait_writable()) return false;
    const ssize_t sent = ::write(descriptor_, text.data(), std::min(slice, text.size()));
    if (sent > 0) {
      text.remove_prefix(static_cast<std::size_t>(sent));
    } else if (sent < 0 && errno != EINTR && errno != EAGAIN) {
      log_limited(LogLevel::warn, "log.write_failed", target_ + ": " + last_error().message());
      return false;
    }
  }
  return true;
}

// False if it is not, and the process wants to end.
bool LineWriter::wait_writable() {
  pollfd poll_set{descriptor_, POLLOUT, 0};
  for (int rounds = 0; !gave_up_; ++rounds) {
    if (::poll(&poll_set, 1, kPollMs) > 0) return true;
    if (!stopping_) {
      rounds = 0;
    } else if (rounds >= kPollsWhenStopping) {
      gave_up_ = true;
    }
  }
  return false;
}

// logrotate renames the file and expects a new one at the old path.
void LineWriter::follow_path() {
  struct stat here{};
  struct stat there{};
  const bool same = ::fstat(descriptor_, &here) == 0 && ::stat(target_.c_str(), &there) == 0 &&
                    here.st_ino == there.st_ino && here.st_dev == there.st_dev;
  if (same && !reopen_.exchange(false)) return;
  reopen_ = false;
  const int next = open_file(target_);
  if (next < 0) {
    log_limited(LogLevel::warn, "log.reopen_failed", target_ + ": " + last_error().message());
    return;
  }
  ::close(descriptor_);
  descriptor_ = next;
  torn_ = false;
  look_at_descriptor();
}

void LineWriter::look_at_descriptor() {
  struct stat status{};
  regular_ = ::fstat(descriptor_, &status) == 0 && S_ISREG(status.st_mode);
}

}  // namespace weir::telemetry
