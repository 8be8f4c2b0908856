// SPDX-License-Identifier: Apache-2.0
#include "config/diagnostics.hpp"

#include <algorithm>
#include <functional>

namespace weir::config {

// Equal places keep the order of reporting, which is the order of addresses in the list.
static bool comes_before(const Diagnostic* a, const Diagnostic* b) {
  return a->at != b->at ? a->at < b->at : std::less<>()(a, b);
}

// What was written may hold anything, and is quoted: one message stays one line.
static std::string on_one_line(std::string text) {
  std::replace_if(text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
  return text;
}

std::uint32_t Diagnostics::add_file(std::string name) {
  files_.push_back(std::move(name));
  return static_cast<std::uint32_t>(files_.size() - 1);
}

void Diagnostics::add(Severity severity, Position at, std::string path, std::string text) {
  list_.push_back({severity, at, on_one_line(std::move(path)), on_one_line(std::move(text))});
}

void Diagnostics::error(Position at, std::string path, std::string text) {
  ++errors_;
  add(Severity::error, at, std::move(path), std::move(text));
}

void Diagnostics::warning(Position at, std::string path, std::string text) {
  add(Severity::warning, at, std::move(path), std::move(text));
}

void Diagnostics::note(Position at, std::string path, std::string text) {
  add(Severity::note, at, std::move(path), std::move(text));
}

std::vector<std::string> Diagnostics::lines(Severity severity) const {
  std::vector<const Diagnostic*> chosen;
  for (const Diagnostic& one : list_) {
    if (one.severity == severity) chosen.push_back(&one);
  }
  std::sort(chosen.begin(), chosen.end(), comes_before);
  std::vector<std::string> out;
  for (const Diagnostic* one : chosen) {
    if (out.size() == kMaxLines) {
      out.push_back("and " + std::to_string(chosen.size() - kMaxLines) + " more");
      break;
    }
    std::string line = files_.empty() ? std::string() : files_[one->at.file];
    if (one->at.line > 0) {
      line += ":" + std::to_string(one->at.line) + ":" + std::to_string(one->at.column);
    }
    line += ": ";
    if (!one->path.empty()) line += one->path + ": ";
    out.push_back(line + one->text);
  }
  return out;
}

std::vector<Diagnostic> Diagnostics::sorted() const {
  std::vector<const Diagnostic*> order;
  for (const Diagnostic& one : list_) order.push_back(&one);
  std::sort(order.begin(), order.end(), comes_before);
  std::vector<Diagnostic> out;
  for (const Diagnostic* one : order) out.push_back(*one);
  return out;
}

std::string Diagnostics::place(Position at) const {
  if (files_.empty()) return {};
  const std::string& name = files_[at.file];
  const std::size_t slash = name.rfind('/');
  return (slash == std::string::npos ? name : name.substr(slash + 1)) + ":" + std::to_string(at.line) + ":" +
         std::to_string(at.column);
}

namespace {

// Optimal string alignment distance; the words are keys, so short.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t n = 0; n <= b.size(); ++n) last[n] = n;
  for (std::size_t at = 1; at <= a.size(); ++at) {
    row[0] = at;
    for (std::size_t n = 1; n <= b.size(); ++n) {
      const std::size_t replace = last[n - 1] + (a[at - 1] == b[n - 1] ? 0 : 1);
      row[n] = std::min({last[n] + 1, row[n - 1] + 1, replace});
      const bool swapped = at > 1 && n > 1 && a[at - 1] == b[n - 2] && a[at - 2] == b[n - 1];
      if (swapped) row[n] = std::min(row[n], before[n - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

}  // namespace

std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates) {
  std::string_view best;
  std::size_t best_distance = SIZE_MAX;
  if (word.size() > 64) return best;
  for (const std::string_view candidate : candidates) {
    const std::size_t allowed = std::max<std::size_t>(1, std::max(word.size(), candidate.size()) / 3);
    const std::size_t far = distance(word, candidate);
    if (far > allowed || far >= best_distance) continue;
    best = candidate;
    best_distance = far;
  }
  return best;
}

std::string join_words(std::span<const std::string_view> words) {
  std::string out;
  for (std::size_t n = 0; n < words.size(); ++n) {
    if (n > 0) out += n + 1 == words.size() ? " or " : ", ";
    out += words[n];
  }
  return out;
}

}  // namespace weir::config
