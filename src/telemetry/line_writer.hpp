// SPDX-License-Identifier: Apache-2.0
// Writes log lines to stdout, stderr, a file or syslog on a thread of its own.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "telemetry/syslog_socket.hpp"
#include "weir/base/result.hpp"

namespace weir::telemetry {

// Workers hand over whole chunks of lines; the queue is bounded, and a chunk that finds it full is dropped
// and counted: a sink that blocks (a full pipe, a dead disk) never blocks a worker.
//
// A file is opened for appending and opened again when its path no longer leads to it (logrotate's rename),
// or after reopen() (SIGHUP, SIGUSR1), between two chunks: no line is lost or torn by it. To syslog each line
// is a message of its own (syslog_socket.hpp). SIGPIPE is blocked on the writing thread.
class LineWriter {
 public:
  static constexpr std::size_t kQueueChunks = 64;

  // `target`: "stdout", "stderr", a SyslogTarget, or a file path. An error if the file cannot be opened or
  // the target is not well formed; a syslog daemon may come later.
  static Result<std::unique_ptr<LineWriter>> open(std::string_view target);

  // Writes out what is queued, giving up after two seconds without progress.
  ~LineWriter();
  LineWriter(const LineWriter&) = delete;
  LineWriter& operator=(const LineWriter&) = delete;

  // Takes the chunk, which holds `lines` whole lines, and leaves an empty string with capacity in its place.
  // Never waits for the sink; from any thread. Returns false if it was dropped (`chunk` is empty then too).
  bool submit(std::string& chunk, std::uint64_t lines);

  void reopen() noexcept { reopen_ = true; }

  const std::string& target() const noexcept { return target_; }
  std::uint64_t lines_written() const noexcept { return written_; }
  std::uint64_t lines_dropped() const noexcept { return dropped_; }

  enum class Ownership : std::uint8_t {
    borrowed,  // a stream that somebody else closes
    file,      // opened from the path `target`, closed and reopened here
    syslog,    // `descriptor` is not used
  };
  LineWriter(std::string target, int descriptor, Ownership ownership);

 private:
  struct Chunk {
    std::string text;
    std::uint64_t lines = 0;
  };

  void run();
  bool take(std::vector<Chunk>& out);
  void write(const Chunk& chunk);
  void write_to_syslog(const Chunk& chunk);
  bool write_all(std::string_view text);
  bool wait_writable();
  void follow_path();
  void look_at_descriptor();

  const std::string target_;
  int descriptor_ = -1;
  const Ownership ownership_;
  std::unique_ptr<SyslogSocket> syslog_;
  std::string message_;
  bool regular_ = false;  // a plain file: takes any size without blocking on a reader
  bool gave_up_ = false;  // while stopping: what is left is lost
  bool torn_ = false;     // the last write stopped inside a line
  std::atomic<bool> reopen_{false};
  std::atomic<bool> stopping_{false};
  std::atomic<std::uint64_t> written_{0};
  std::atomic<std::uint64_t> dropped_{0};

  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<Chunk> queue_;
  std::vector<std::string> spare_;  // emptied chunks, for their capacity
  std::thread thread_;
};

}  // namespace weir::telemetry
