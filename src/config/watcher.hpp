// SPDX-License-Identifier: Apache-2.0
// Notices that a configuration file changed, however it is changed: written in place, replaced by a rename,
// swapped by a symlink (mounted Kubernetes ConfigMaps), deleted, or created later.
//
// Two ways, since each misses what the other sees: inotify on the directories of the files, and of what their
// symlinks lead through, debounced by 100 ms so that a file being written is read once; and once a second a
// look at each file's identity, size and time, for file systems that send no events. What changed is not
// looked at here: the callback reloads, and load() decides.
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace weir::config {

// All calls and the callback on the io_context's one thread.
class Watcher {
 public:
  // `changed` is called after changes settled; it may call watch(). Nothing is watched until then.
  Watcher(boost::asio::io_context& context, std::function<void()> changed);
  ~Watcher();
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

  // Watches exactly these files from now on (LoadResult::files). Files may not exist yet. At start-up call it
  // with the main file before loading, and with all files after, so that no change in between is missed.
  void watch(const std::vector<std::string>& files);

  // No callback comes after this. The destructor does the same.
  void stop();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace weir::config
