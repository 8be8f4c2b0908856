// SPDX-License-Identifier: Apache-2.0
// `weir simulate`: what would new quotas have done to yesterday's traffic?
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iostream>

#include "app/command_line.hpp"
#include "app/quota_shelf.hpp"
#include "app/simulate/rehearsal.hpp"
#include "app/simulate/report.hpp"

namespace weir::app {
namespace {

constexpr std::string_view kHelp =
    "weir simulate --quotas NEW.yaml [-c weir.yaml] ACCESS.jsonl...\n"
    "  Replays access logs of the gateway, in their own time, against the quotas in force and against new\n"
    "  ones, and shows who would be refused, by which layer, how often. Nothing that runs is asked or "
    "changed.\n"
    "  -q, --quotas FILE   the new quotas\n"
    "  -c, --config FILE   the main file (default weir.yaml); the quota file it names is the one in force\n"
    "      --format WORD   text (default) or json\n"
    "      --html FILE     writes a page with charts too\n"
    "      --strict        exit code 1 if anyone is newly refused\n"
    "      --no-progress   no bar, also on a terminal\n"
    "  `-` is the standard input. Several files are merged by time: rotated ones, or those of several "
    "gateways.\n"
    "Exit codes: 0 good, 1 the configuration is wrong (or see --strict), 2 could not run.\n";

std::shared_ptr<const pipeline::Runtime> load(const std::string& file, const std::string& quotas) {
  const config::LoadResult loaded = quotas.empty() ? load_at_hand(file) : config::load(file, nullptr, quotas);
  for (const std::string& error : loaded.errors) std::cerr << "error: " << error << '\n';
  return loaded.runtime;
}

// A bar on the terminal, ten times a second at most; nothing where there is none.
class Progress {
 public:
  Progress(std::uint64_t bytes, bool shown) : bytes_(bytes), shown_(shown && ::isatty(STDERR_FILENO) == 1) {}
  ~Progress() {
    if (shown_) std::cerr << "\r\033[K" << std::flush;
  }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void show(std::uint64_t read, std::uint64_t requests) {
    const auto now = std::chrono::steady_clock::now();
    if (!shown_ || now - last_ < std::chrono::milliseconds(100)) return;
    last_ = now;
    constexpr std::uint64_t kCells = 40;
    std::string bar;
    if (bytes_ != 0) {
      const std::uint64_t cells = std::min(kCells, read * kCells / bytes_);
      bar = "[" + std::string(cells, '#') + std::string(kCells - cells, '.') + "] " +
            std::to_string(std::min<std::uint64_t>(100, read * 100 / bytes_)) + " %  ";
    }
    std::cerr << "\r\033[K" << bar << count_text(requests) << " requests" << std::flush;
  }

 private:
  std::uint64_t bytes_;
  bool shown_;
  std::chrono::steady_clock::time_point last_;
};

std::vector<std::unique_ptr<LogFile>> open_logs(const std::vector<std::string>& names) {
  if (names.empty()) throw UsageError{"which log? write: weir simulate --quotas NEW.yaml access.jsonl"};
  std::vector<std::unique_ptr<LogFile>> files;
  for (const std::string& name : names) {
    auto file = LogFile::open(name);
    if (!file) throw UsageError{"cannot read " + name + ": " + file.error().message()};
    files.push_back(*std::move(file));
  }
  return files;
}

// 0: unknown, for one of them is a pipe.
std::uint64_t size_of(const std::vector<std::string>& names) {
  std::uint64_t bytes = 0;
  for (const std::string& name : names) {
    struct stat status{};
    if (::stat(name.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return 0;
    bytes += static_cast<std::uint64_t>(status.st_size);
  }
  return bytes;
}

std::vector<std::string> notes_of(const Rehearsal& rehearsal, const LogCounts& counts) {
  std::vector<std::string> notes;
  if (counts.sampled_lines != 0) {
    notes.push_back(count_text(counts.sampled_lines) + " lines were sampled under attack and stand for " +
                    count_text(counts.sampled_requests) +
                    " requests: sums and callers' shares hold, figures of single users are estimates");
  }
  if (counts.late != 0) notes.push_back(count_text(counts.late) + " lines came too late to be put in order");
  if (counts.not_judged != 0)
    notes.push_back(count_text(counts.not_judged) +
                    " requests were never judged by a limit and are left out");
  const std::uint64_t evicted =
      rehearsal.replay(in_force).evictions() + rehearsal.replay(renewed).evictions();
  if (evicted != 0)
    notes.push_back(count_text(evicted) + " counters were evicted (store.max_keys), as in memory mode");
  for (const limit::Layer& layer : rehearsal.replay(renewed).runtime().chain.layers()) {
    const limit::Policy* const usual = layer.policies.usual();
    if (usual != nullptr && usual->scope == limit::Scope::instance)
      notes.push_back("layer " + layer.name + " counts in each instance; here there was one");
  }
  return notes;
}

int write_page(const Report& report, const std::string& name) {
  std::ofstream file(name, std::ios::binary);
  file << to_html(report) << std::flush;
  if (file) return kGood;
  std::cerr << "weir: cannot write " << name << '\n';
  return kCouldNotRun;
}

}  // namespace

int simulate_command(const std::vector<std::string>& arguments) {
  const Arguments parsed(arguments, {{"quotas", 'q', true},
                                     {"config", 'c', true},
                                     {"format", 'f', true},
                                     {"html", 0, true},
                                     {"strict", 0, false},
                                     {"no-progress", 0, false},
                                     {"help", 'h', false}});
  if (parsed.has("help")) {
    std::cout << kHelp;
    return kGood;
  }
  const std::string quotas = parsed.value("quotas", ""), main = parsed.value("config", "weir.yaml");
  const std::string format = parsed.value("format", "text");
  if (quotas.empty()) throw UsageError{"which quotas? write: --quotas NEW.yaml"};
  if (format != "text" && format != "json")
    throw UsageError{"--format is text or json, not '" + format + "'"};
  auto files = open_logs(parsed.rest);
  const auto before = load(main, ""), after = load(main, quotas);
  if (before == nullptr || after == nullptr) return kFoundWrong;

  LogReader log(std::move(files));
  Rehearsal rehearsal(before, after, std::max<std::size_t>(64, before->store.max_keys));
  {
    Progress progress(size_of(parsed.rest), !parsed.has("no-progress"));
    rehearsal.run(log, [&] { progress.show(log.bytes_read(), rehearsal.comparison().all().requests); });
  }
  const Report report{before->quotas_file, quotas,
                      parsed.rest,         notes_of(rehearsal, log.counts()),
                      log.counts(),        rehearsal.comparison()};
  std::cout << (format == "json" ? to_json(report) : to_text(report)) << std::flush;
  if (parsed.has("html") && write_page(report, parsed.value("html", "")) != kGood) return kCouldNotRun;
  const bool hurts = parsed.has("strict") && rehearsal.comparison().all().newly_refused != 0;
  return hurts ? kFoundWrong : kGood;
}

}  // namespace weir::app
