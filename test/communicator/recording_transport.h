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
  Pending all_reduce_sum(Slice values) override {
    calls.push_back("sum " + std::to_string(values.size()));
    return inner_.all_reduce_sum(values);
  }
  Pending broadcast(Slice values, int root) override {
    calls.push_back("broadcast " + std::to_string(values.size()) + " from " + std::to_string(root));
    return inner_.broadcast(values, root);
  }
  std::vector<std::string> all_gather(const std::string& mine) override {
    calls.push_back("gather");
    return inner_.all_gather(mine);
  }
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
