// SPDX-License-Identifier: Apache-2.0
// Access log lines (telemetry/access_log.hpp) read back, in the order of their times and in bounded memory.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <queue>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weir/base/result.hpp"

namespace weir::app {

// What a line says, as far as a replay needs it.
struct LoggedRequest {
  std::int64_t time_ms = 0;  // wall time of its start
  std::int64_t duration_ms = 0;
  std::string request_id;
  std::string method;
  std::string path;  // normal form
  std::string client;
  std::string caller;  // "" where there was none
  std::string user;
  std::vector<std::pair<std::string, std::string>> identity;  // further dimensions
  std::string final_hit_layer;                                // "" unless a limit refused it
  std::int64_t cost = 1;
  std::int64_t true_cost = 0;  // 0: equal to cost
  std::uint64_t bytes_out = 0;
  std::uint64_t weight = 1;  // refused requests that this sampled line stands for
  int upstream_status = 0;
  bool exempt = false;
};

enum class LineKind : std::uint8_t {
  request,     // of a request that was judged
  not_judged,  // of one that no limit looked at: preflights, missing identities
  denial,      // a line of the denial log: the access log tells of the same request
  unreadable,  // anything else
};

// Reads one line. `why` is set for an unreadable one. Numbers are bounded: a weight or cost beyond a million
// is unreadable, since no gateway writes it.
LineKind read_line(std::string_view line, LoggedRequest& out, std::string& why);

struct LogCounts {
  struct Unreadable {
    std::string file;
    std::uint64_t line = 0;
    std::string why;
  };
  static constexpr std::size_t kShown = 5;

  std::uint64_t lines = 0;
  std::uint64_t requests = 0;  // lines, not weights
  std::uint64_t not_judged = 0;
  std::uint64_t denials = 0;
  std::uint64_t unreadable = 0;
  std::uint64_t sampled_lines = 0;     // with a weight above 1
  std::uint64_t sampled_requests = 0;  // what they stand for
  std::uint64_t late = 0;              // older than what was replayed before them
  std::vector<Unreadable> shown;       // the first kShown
};

// The lines of one file. Lines of more than 256 KiB are unreadable.
class LogFile {
 public:
  // "-" is the standard input.
  static Result<std::unique_ptr<LogFile>> open(const std::string& path);
  ~LogFile();
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;

  // False at the end. The view holds until the next call; an overlong line comes as an empty one.
  bool next(std::string_view& line);
  const std::string& name() const noexcept { return name_; }
  std::uint64_t line_number() const noexcept { return number_; }
  std::uint64_t bytes_read() const noexcept { return bytes_; }

 private:
  LogFile(std::string name, std::FILE* file);
  bool fill();

  std::string name_;
  std::FILE* file_;
  std::vector<char> buffer_;
  std::size_t from_ = 0;
  std::size_t to_ = 0;
  bool ended_ = false;
  std::uint64_t number_ = 0;
  std::uint64_t bytes_ = 0;
};

// Several files as one stream of requests. A gateway writes a line when its request ends, each worker for
// itself: lines of one file may stand in any order within some seconds. Each file is read ahead as far as the
// stream needs to merge it, and kAhead requests are held to put them in order.
class LogReader {
 public:
  static constexpr std::size_t kAhead = 50'000;

  explicit LogReader(std::vector<std::unique_ptr<LogFile>> files);
  ~LogReader();
  LogReader(const LogReader&) = delete;
  LogReader& operator=(const LogReader&) = delete;

  // The oldest of those held; null at the end.
  std::unique_ptr<LoggedRequest> next();

  const LogCounts& counts() const noexcept { return counts_; }
  std::uint64_t bytes_read() const noexcept;

 private:
  struct Held {
    std::int64_t time_ms = 0;
    std::uint64_t number = 0;
    LoggedRequest* request = nullptr;                   // owned by the queue, whose top cannot be moved from
    bool operator<(const Held& other) const noexcept {  // the queue's top is the largest
      return time_ms != other.time_ms ? time_ms > other.time_ms : number > other.number;
    }
  };
  struct Source {
    std::unique_ptr<LogFile> file;
    std::unique_ptr<LoggedRequest> head;  // read, and not in the queue yet
  };

  void advance(Source& source);
  void hold_one();
  void note_unreadable(const LogFile& file, const std::string& why);

  std::vector<Source> sources_;
  std::priority_queue<Held> held_;
  std::uint64_t number_ = 0;
  std::int64_t latest_ms_ = INT64_MIN;
  LogCounts counts_;
};

}  // namespace weir::app
