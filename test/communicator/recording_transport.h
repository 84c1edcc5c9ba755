// A transport that records, as text, each call that goes through it to another transport.
#pragma once

#include <string>
#include <vector>

#include "transport/decorators/forwarding.h"

namespace eave {

class RecordingTransport final : public ForwardingTransport {
 public:
  using ForwardingTransport::ForwardingTransport;

  Pending all_reduce_sum(Slice values, std::span<const int> ranks = {}, const Compression& compression = {}) override {
    calls.push_back("sum " + std::to_string(values.size()) + (ranks.empty() ? "" : " among"));
    for (int rank : ranks) calls.back() += " " + std::to_string(rank);
    return ForwardingTransport::all_reduce_sum(values, ranks, compression);
  }
  Pending broadcast(Slice values, int root) override {
    calls.push_back("broadcast " + std::to_string(values.size()) + " from " + std::to_string(root));
    return ForwardingTransport::broadcast(values, root);
  }
  std::vector<std::string> texts(const std::string& mine, TextRoute route) override {
    calls.push_back("texts");
    return ForwardingTransport::texts(mine, route);
  }
  void serve(Service* service) override {
    calls.push_back(service ? "serve" : "serve nothing");
    ForwardingTransport::serve(service);
  }
  Pending request(std::span<const ServiceRequest> requests) override {
    calls.push_back("request " + std::to_string(requests.size()));
    return ForwardingTransport::request(requests);
  }

  std::string text() const {
    std::string lines;
    for (const std::string& call : calls) lines += call + "\n";
    return lines;
  }

  std::vector<std::string> calls;
};

}  // namespace eave
