// A toy for test/extend: ranks as threads, as `threads`, but each sum begins 20 microseconds late.
#include <chrono>
#include <thread>

#include "eave/job.h"
#include "transport/decorators/forwarding.h"

namespace eave {

TransportKind describe_transport_threads();

namespace {

class ToyLate final : public ForwardingTransport {
 public:
  explicit ToyLate(Transport& inner) : ForwardingTransport(inner), inner_(inner) {}
  explicit ToyLate(std::unique_ptr<Transport> part) : ToyLate(*part) { part_ = std::move(part); }
  std::string name() const override { return "toy-late"; }
  Pending all_reduce_sum(Slice values, std::span<const int> ranks, const Compression& compression) override {
    std::this_thread::sleep_for(std::chrono::microseconds(20));
    return ForwardingTransport::all_reduce_sum(values, ranks, compression);
  }
  std::unique_ptr<Transport> split(int part) override {
    std::unique_ptr<Transport> inner = inner_.split(part);
    return inner ? std::make_unique<ToyLate>(std::move(inner)) : nullptr;
  }

 private:
  Transport& inner_;
  std::unique_ptr<Transport> part_;  // owned only if split() made this
};

int run_toy_late(int ranks, const std::function<void(Transport&)>& body) {
  return describe_transport_threads().run(ranks, [&](Transport& threads) {
    ToyLate late(threads);
    body(late);
  });
}

}  // namespace

TransportKind describe_transport_toy_late() {
  return {"toy-late", "a toy: as threads, but each sum begins late", false, run_toy_late, true};
}

}  // namespace eave
