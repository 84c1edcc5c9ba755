// Writes down what is asked of a transport.
#pragma once

#include <string>
#include <vector>

#include "eave/transport.h"

namespace eave {

class RecordingTransport final : public Transport {
 public:
  explicit RecordingTransport(Transport& inner) : inner_(inner) {}

  int rank() const override { return inner_.rank(); }
  int size() const override { return inner_.size(); }
  std::string name() const override { return inner_.name(); }
  bool reaches(DeviceKind device) const override { return inner_.reaches(device); }
  void attach(Device& device) override { inner_.attach(device); }
  void detach() noexcept override { inner_.detach(); }
  Pending all_reduce_sum(Slice values, std::span<const int> ranks = {}, const Compression& compression = {}) override {
    calls.push_back("sum " + std::to_string(values.size()) + (ranks.empty() ? "" : " among"));
    for (int rank : ranks) calls.back() += " " + std::to_string(rank);
    return inner_.all_reduce_sum(values, ranks, compression);
  }
  Pending broadcast(Slice values, int root) override {
    calls.push_back("broadcast " + std::to_string(values.size()) + " from " + std::to_string(root));
    return inner_.broadcast(values, root);
  }
  std::vector<std::string> all_gather(const std::string& mine) override {
    calls.push_back("gather");
    return inner_.all_gather(mine);
  }
  void serve(Service* service) override {
    calls.push_back(service ? "serve" : "serve nothing");
    inner_.serve(service);
  }
  Pending request(std::span<const ServiceRequest> requests) override {
    calls.push_back("request " + std::to_string(requests.size()));
    return inner_.request(requests);
  }
  void withdraw() noexcept override { inner_.withdraw(); }
  void abort(ExitCode code) noexcept override { inner_.abort(code); }

  std::string text() const {
    std::string lines;
    for (const std::string& call : calls) lines += call + "\n";
    return lines;
  }

  std::vector<std::string> calls;

 private:
  Transport& inner_;
};

}  // namespace eave
