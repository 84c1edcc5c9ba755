// Starting a thread, with a message that helps if the system has none left.
#pragma once

#include <future>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

namespace eave {

// Throws Error(kResource): which thread, why not, which limits to raise, and which of them are set. `remedy`: what else
// to do.
[[noreturn]] void refuse_thread(const std::string& purpose, const std::system_error& error,
                                const std::string& remedy = "start fewer ranks on this machine");

// Runs body in a thread of its own. `purpose` completes the sentence "no thread … could be had", such as "for rank 1".
template <class Body>
std::thread start_thread(const std::string& purpose, Body&& body) {
  try {
    return std::thread(std::forward<Body>(body));
  } catch (const std::system_error& error) {
    refuse_thread(purpose, error);
  }
}

// The same, and what the body returns can be asked for.
template <class Body>
auto start_task(const std::string& purpose, Body&& body) {
  try {
    return std::async(std::launch::async, std::forward<Body>(body));
  } catch (const std::system_error& error) {
    refuse_thread(purpose, error);
  }
}

}  // namespace eave
