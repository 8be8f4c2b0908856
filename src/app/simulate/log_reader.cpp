// SPDX-License-Identifier: Apache-2.0
#include "app/simulate/log_reader.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace weir::app {
namespace {

constexpr std::size_t kLineBytes = 256 * 1024;

}  // namespace

Result<std::unique_ptr<LogFile>> LogFile::open(const std::string& path) {
  std::FILE* const file = path == "-" ? stdin : std::fopen(path.c_str(), "re");
  if (file == nullptr) return error_code(errno, boost::system::system_category());
  return std::unique_ptr<LogFile>(new LogFile(path, file));
}

LogFile::LogFile(std::string name, std::FILE* file)
    : name_(std::move(name)), file_(file), buffer_(kLineBytes) {}

LogFile::~LogFile() {
  if (file_ != stdin) std::fclose(file_);
}

// Moves what is left to the front and reads behind it. False if nothing came.
bool LogFile::fill() {
  if (ended_) return false;
  std::memmove(buffer_.data(), buffer_.data() + from_, to_ - from_);
  to_ -= from_;
  from_ = 0;
  const std::size_t got = std::fread(buffer_.data() + to_, 1, buffer_.size() - to_, file_);
  to_ += got;
  bytes_ += got;
  ended_ = got == 0;
  return got != 0;
}

bool LogFile::next(std::string_view& line) {
  bool overlong = false;
  std::size_t looked = 0;
  while (true) {
    const char* const start = buffer_.data() + from_;
    const void* const found = std::memchr(start + looked, '\n', to_ - from_ - looked);
    if (found != nullptr) {
      const auto size = static_cast<std::size_t>(static_cast<const char*>(found) - start);
      line = overlong ? std::string_view() : std::string_view(start, size);
      from_ += size + 1;
      ++number_;
      return true;
    }
    looked = to_ - from_;
    if (looked == buffer_.size()) {
      overlong = true;
      from_ = to_ = looked = 0;
    }
    if (fill()) continue;
    if (looked == 0 && !overlong) return false;
    line = overlong ? std::string_view() : std::string_view(buffer_.data() + from_, to_ - from_);
    from_ = to_;
    ++number_;
    return true;
  }
}

LogReader::LogReader(std::vector<std::unique_ptr<LogFile>> files) {
  for (auto& file : files) {
    sources_.push_back({std::move(file), nullptr});
    advance(sources_.back());
  }
}

void LogReader::note_unreadable(const LogFile& file, const std::string& why) {
  ++counts_.unreadable;
  if (counts_.shown.size() < LogCounts::kShown)
    counts_.shown.push_back({file.name(), file.line_number(), why});
}

// Reads on to the source's next request.
void LogReader::advance(Source& source) {
  auto request = std::make_unique<LoggedRequest>();
  std::string_view line;
  std::string why;
  while (source.file->next(line)) {
    ++counts_.lines;
    switch (line.empty() ? LineKind::unreadable : read_line(line, *request, why)) {
      case LineKind::request:
        ++counts_.requests;
        if (request->weight > 1) {
          ++counts_.sampled_lines;
          counts_.sampled_requests += request->weight;
        }
        source.head = std::move(request);
        return;
      case LineKind::not_judged:
        ++counts_.not_judged;
        break;
      case LineKind::denial:
        ++counts_.denials;
        break;
      case LineKind::unreadable:
        note_unreadable(*source.file, line.empty() ? "empty, or longer than 256 KiB" : why);
        break;
    }
  }
}

// Takes the oldest head into the queue.
void LogReader::hold_one() {
  Source* oldest = nullptr;
  for (Source& source : sources_) {
    if (source.head == nullptr) continue;
    if (oldest == nullptr || source.head->time_ms < oldest->head->time_ms) oldest = &source;
  }
  if (oldest == nullptr) return;
  LoggedRequest* const request = oldest->head.release();
  held_.push({request->time_ms, number_++, request});
  advance(*oldest);
}

LogReader::~LogReader() {
  for (; !held_.empty(); held_.pop()) delete held_.top().request;
}

std::unique_ptr<LoggedRequest> LogReader::next() {
  while (held_.size() < kAhead) {
    const std::size_t before = held_.size();
    hold_one();
    if (held_.size() == before) break;
  }
  if (held_.empty()) return nullptr;
  std::unique_ptr<LoggedRequest> out(held_.top().request);
  held_.pop();
  if (out->time_ms < latest_ms_) ++counts_.late;
  latest_ms_ = std::max(latest_ms_, out->time_ms);
  return out;
}

std::uint64_t LogReader::bytes_read() const noexcept {
  std::uint64_t bytes = 0;
  for (const Source& source : sources_) bytes += source.file->bytes_read();
  return bytes;
}

}  // namespace weir::app
