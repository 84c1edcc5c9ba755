// The transport `loopback`: one rank by itself. There is nothing to exchange, so every operation is done at once.
#include "eave/job.h"
#include "eave/transport.h"
#include "transport/core/failure.h"
#include "transport/core/text_routes.h"
#include "transport/core/transport_base.h"

namespace eave {
namespace {

class LoopbackTransport final : public Transport {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  std::string name() const override { return "loopback"; }
  void attach(Device& device) override { service_.attach(device); }
  void detach() noexcept override { service_.detach(); }

  Pending all_reduce_sum(Slice, std::span<const int> ranks, const Compression&) override {
    check_group(ranks, 0, 1);
    return {};
  }
  Pending broadcast(Slice, int root) override {
    EAVE_CHECK(root == 0, "root " + std::to_string(root) + " of 1 rank");
    return {};
  }
  std::vector<std::string> texts(const std::string& mine, TextRoute route) override {
    return route == TextRoute::kFirstToEach ? unpack_texts(mine) : std::vector{mine};
  }
  std::unique_ptr<Transport> split(int part) override {
    return part < 0 ? nullptr : std::make_unique<LoopbackTransport>();
  }
  void serve(Service* service) override { service_.serve(service); }
  Pending request(std::span<const ServiceRequest> requests) override {
    check_owners(requests, 1);
    service_.request(requests);
    return {};
  }
  void withdraw() noexcept override { service_.serve(nullptr); }
  void abort(ExitCode) noexcept override {}

 private:
  SingleRankService service_;
};

int run_loopback(int, const std::function<void(Transport&)>& body) {
  LoopbackTransport transport;
  const std::optional<Failure> failure = failure_of([&] { body(transport); });
  if (!failure) return 0;
  print_failure(*failure, 0, 1);
  return static_cast<int>(failure->code);
}

}  // namespace

TransportKind describe_transport_loopback() {
  return {"loopback", "a single rank, which exchanges nothing", false, run_loopback};
}

}  // namespace eave
