// SPDX-License-Identifier: Apache-2.0
#include "config/files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/hash.hpp"

namespace weir::config {

namespace {

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const noexcept { return number_; }

 private:
  int number_;
};

std::string system_words(int number) {
  return std::strerror(number);
}

// Reads up to one byte beyond the limit: a file may grow after it was looked at.
bool read_all(int file, std::string& bytes, std::string& why) {
  std::string block(64 * 1024, '\0');
  while (bytes.size() <= Files::kMaxBytes) {
    const ssize_t got = ::read(file, block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      why = system_words(errno);
      return false;
    }
    if (got == 0) return true;
    bytes.append(block, 0, static_cast<std::size_t>(got));
  }
  return true;
}

}  // namespace

std::optional<std::string> Files::read_given(const std::string& path, std::string& why) {
  const auto found = given_->find(path);
  if (found == given_->end()) {
    why = "is not among the files that were pushed";
    return std::nullopt;
  }
  note(path, found->second);
  return found->second;
}

void Files::note(const std::string& path, const std::string& bytes) {
  hash_ = stable_hash(path, hash_);
  hash_ = stable_hash(bytes, hash_);
  if (keeping_) kept_[path] = bytes;
}

std::optional<std::string> Files::read(const std::string& path, std::string& why) {
  if (given_ != nullptr) return read_given(path, why);
  if (std::find(names_.begin(), names_.end(), path) == names_.end()) names_.push_back(path);
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat about{};
  if (file.get() < 0 || ::fstat(file.get(), &about) != 0) {
    why = system_words(errno);
    return std::nullopt;
  }
  if (S_ISDIR(about.st_mode)) {
    why = "is a directory, a file is needed";
    return std::nullopt;
  }
  if (!S_ISREG(about.st_mode)) {
    why = "is not a regular file";
    return std::nullopt;
  }
  std::string bytes;
  if (!read_all(file.get(), bytes, why)) return std::nullopt;
  if (bytes.size() > kMaxBytes) {
    why = "is larger than 16 MiB";
    return std::nullopt;
  }
  note(path, bytes);
  return bytes;
}

std::string Files::version() const {
  return short_hash(hash_);
}

std::string short_hash(std::uint64_t hash) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string out;
  for (int shift = 60; shift >= 32; shift -= 4) out += digits[(hash >> shift) & 15];
  return out;
}

std::string beside(const std::string& from, const std::string& name) {
  const std::size_t slash = from.rfind('/');
  if (name.starts_with('/') || slash == std::string::npos) return name;
  return from.substr(0, slash + 1) + name;
}

}  // namespace weir::config
