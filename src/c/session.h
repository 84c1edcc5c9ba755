// The job that this process is one rank of, for a program with a loop of its own.
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "eave/transport.h"

namespace eave {

// TransportKind::run keeps its caller until the job is through, and one thread calls a Transport. So a thread of its
// own is both, and work comes to it one piece after another.
class Session {
 public:
  // Collective. "auto", or a transport whose ranks are processes. Throws Error(kUsage) for another.
  explicit Session(const std::string& transport);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session();

  // Blocks until `work` is done; rethrows what escaped it.
  void run(const std::function<void(Transport&)>& work);
  // Collective. Nothing may follow.
  void close();

  int rank() const { return rank_; }
  int size() const { return size_; }

 private:
  void attend(Transport& transport);

  std::mutex mutex_;
  std::condition_variable changed_;
  const std::function<void(Transport&)>* work_ = nullptr;  // to be done
  std::exception_ptr failure_;                             // what escaped the last one
  bool is_open_ = false, is_closing_ = false, has_ended_ = false;
  int rank_ = -1, size_ = 0;
  std::thread thread_;
};

}  // namespace eave
