// SPDX-License-Identifier: Apache-2.0
#include "telemetry/log.hpp"

#include <spdlog/async.h>
#include <spdlog/async_logger.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <array>
#include <atomic>
#include <future>
#include <memory>
#include <mutex>
#include <thread>

#include "telemetry/json_line.hpp"
#include "telemetry/suppressor.hpp"
#include "weir/base/clock.hpp"

namespace weir::telemetry {
namespace {

constexpr std::size_t kQueueLines = 4096;
constexpr std::array<std::string_view, 5> kLevelNames{"debug", "info", "warn", "error", "off"};

// The lines are complete and escaped when spdlog gets them: it only queues and writes.
struct Backend {
  std::shared_ptr<spdlog::async_logger> logger;
  std::shared_ptr<spdlog::details::thread_pool>
      pool;  // last: its end, which joins, comes before the logger's
};

struct State {
  std::atomic<LogLevel> level{LogLevel::info};
  std::atomic<LogFormat> format{LogFormat::plain};
  std::mutex mutex;  // guards `backend`: start and stop against lines
  std::shared_ptr<Backend> backend;
  std::uint64_t dropped_before = 0;  // by backends that are gone
  Suppressor suppressor;
};

// Never destroyed: threads that outlive main() may still log.
State& state() {
  static State* const only = new State;
  return *only;
}

std::shared_ptr<Backend> current() {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  return s.backend;
}

// Returns the one before. Its pool writes out its queue when the last owner lets go of it.
std::shared_ptr<Backend> replace(std::shared_ptr<Backend> next) {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  if (s.backend != nullptr) s.dropped_before += s.backend->pool->overrun_counter();
  s.backend.swap(next);
  return next;
}

// A sink that blocks for ever (a full pipe nobody reads) must not keep the process from ending.
void let_go(std::shared_ptr<Backend> backend) {
  auto written = std::make_shared<std::promise<void>>();
  auto done = written->get_future();
  std::thread([backend = std::move(backend), written]() mutable {
    backend.reset();
    written->set_value();
  }).detach();
  done.wait_for(std::chrono::seconds(5));
}

std::shared_ptr<Backend> make_backend(const std::string& target) {
  spdlog::sink_ptr sink;
  if (target == "stdout") {
    sink = std::make_shared<spdlog::sinks::stdout_sink_mt>();
  } else if (target == "stderr") {
    sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
  } else {
    sink = std::make_shared<spdlog::sinks::basic_file_sink_mt>(target);
  }
  auto backend = std::make_shared<Backend>();
  backend->pool = std::make_shared<spdlog::details::thread_pool>(kQueueLines, 1);
  backend->logger = std::make_shared<spdlog::async_logger>("weir", std::move(sink), backend->pool,
                                                           spdlog::async_overflow_policy::overrun_oldest);
  backend->logger->set_pattern("%v");
  backend->logger->set_level(spdlog::level::trace);
  backend->logger->flush_on(spdlog::level::trace);
  return backend;
}

void append_line(std::string& out, LogLevel level, std::string_view cause, std::string_view message) {
  const std::string_view name = kLevelNames[static_cast<std::size_t>(level)];
  const std::int64_t now = system_clock().wall_ms();
  if (state().format == LogFormat::json) {
    JsonLine line(out);
    line.time("time", now).text("level", name).text("cause", cause).text("message", message).end();
    out.pop_back();  // spdlog ends lines itself
    return;
  }
  append_time(out, now);
  out += ' ';
  out += name;
  out += ' ';
  out += cause;
  out += ": ";
  append_json_text(out, message);
}

void write(LogLevel level, std::string_view cause, std::string_view message) {
  thread_local std::string line;
  line.clear();
  append_line(line, level, cause, message);
  if (const auto backend = current()) {
    backend->logger->log(spdlog::level::info, spdlog::string_view_t(line.data(), line.size()));
    return;
  }
  line += '\n';
  std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace

LogLevel log_level_of(std::string_view name, LogLevel fallback) noexcept {
  for (std::size_t n = 0; n < kLevelNames.size(); ++n) {
    if (kLevelNames[n] == name) return static_cast<LogLevel>(n);
  }
  return fallback;
}

bool start_log(const LogSettings& settings) {
  std::shared_ptr<Backend> backend;
  bool opened = true;
  try {
    backend = make_backend(settings.target);
  } catch (const spdlog::spdlog_ex&) {
    backend = make_backend("stderr");
    opened = false;
  }
  state().level = settings.level;
  state().format = settings.format;
  if (auto last = replace(std::move(backend))) let_go(std::move(last));
  return opened;
}

void set_log_level(LogLevel level) noexcept {
  state().level = level;
}

void stop_log() noexcept {
  try {
    if (auto last = replace(nullptr)) let_go(std::move(last));
  } catch (...) {
    // No thread to be had: the queue is lost with the process.
  }
}

void log_line(LogLevel level, std::string_view cause, std::string_view message) noexcept {
  if (level < state().level.load(std::memory_order_relaxed) || level == LogLevel::off) return;
  try {
    write(level, cause, message);
  } catch (...) {
    // Out of memory, most likely. There is nobody left to tell.
  }
}

void log_limited(LogLevel level, std::string_view cause, std::string_view message,
                 std::chrono::milliseconds interval) noexcept {
  if (level < state().level.load(std::memory_order_relaxed)) return;
  try {
    const auto left_out = state().suppressor.admit(cause, system_clock().monotonic_ms(), interval.count());
    if (!left_out) return;
    if (*left_out == 0) return log_line(level, cause, message);
    log_line(level, cause, std::string(message) + " (" + std::to_string(*left_out) + " more suppressed)");
  } catch (...) {
    // As above.
  }
}

void log_tick() noexcept {
  try {
    for (const auto& rest : state().suppressor.take_rests(system_clock().monotonic_ms())) {
      log_line(LogLevel::warn, rest.cause, std::to_string(rest.suppressed) + " more suppressed");
    }
  } catch (...) {
    // As above.
  }
}

std::uint64_t log_lines_suppressed() noexcept {
  return state().suppressor.suppressed();
}

std::uint64_t log_lines_dropped() noexcept {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  return s.dropped_before + (s.backend == nullptr ? 0 : s.backend->pool->overrun_counter());
}

}  // namespace weir::telemetry
