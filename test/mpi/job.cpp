// A program that ends_test.cpp starts with mpirun to see how jobs end: mpi_job <ending>, a key of kEndings.
#include "eave/job.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <map>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "eave/agreement.h"
#include "eave/options.h"
#include "eave/transport.h"
#include "transport/mpi/mpi_job.h"

namespace {

using namespace eave;

void exchange_for_ever(Transport& transport) {
  std::vector<float> values(1000);
  for (;;) transport.all_reduce_sum(values).wait();
}

// A service that either refuses every request or throws.
struct Unhelpful final : Service {
  explicit Unhelpful(bool refuse) : refuses(refuse) {}
  bool answer(int, std::int64_t, Slice) override {
    if (!refuses) throw Error(ExitCode::kBadData, "bad values");
    return false;
  }
  const bool refuses;
};

// Sends 20 requests to the next rank.
void ask_next(Transport& transport) {
  std::vector<float> values(100000);
  std::vector<ServiceRequest> requests;
  for (std::size_t key = 0; key < 20; ++key)
    requests.push_back({(transport.rank() + 1) % transport.size(), static_cast<std::int64_t>(key),
                        Slice(values).subspan(key * 5000, 5000)});
  transport.request(requests).wait();
}

const std::map<std::string, std::function<void(Transport&)>> kEndings = {
    {"well", [](Transport& transport) { transport.all_gather("done"); }},
    {"computes-on-cpu",
     [](Transport& transport) {
       const Attachment attachment(transport, cpu_device());
       std::vector<float> values(10, 1.0f);
       transport.all_reduce_sum(values).wait();
     }},
    {"agreed",
     [](Transport& transport) {
       agree(transport, [] { throw Error(ExitCode::kUsage, "--batch 0: must be at least 1"); });
     }},
    {"agreed-last",
     [](Transport& transport) {
       agree(transport, [&] {
         if (transport.rank() == transport.size() - 1) throw Error(ExitCode::kInputMissing, "no such file: x");
       });
     }},
    {"one-rank-fails",
     [](Transport& transport) {
       if (transport.rank() == 1) throw Error(ExitCode::kBadData, "bad magic");
       exchange_for_ever(transport);
     }},
    {"fails-in-flight",
     [](Transport& transport) {
       std::vector<float> values(1 << 20);
       Pending pending = transport.all_reduce_sum(values);
       if (transport.rank() == 1) throw Error(ExitCode::kDiverged, "loss is not finite");
       exchange_for_ever(transport);
     }},
    {"fails-while-others-compute",
     [](Transport& transport) {
       if (transport.rank() == 1) throw std::runtime_error("oops");
       for (;;) pause();
     }},
    {"computes-for-ever",
     [](Transport&) {
       for (;;) pause();
     }},
    {"aborts-while-waiting",
     [](Transport& transport) {
       std::vector<float> values(1000);
       if (transport.rank() == 0) {
         const Pending never = transport.all_reduce_sum(values);  // the communication thread waits inside MPI
         usleep(100000);
         transport.abort(ExitCode::kDiverged);
       }
       for (;;) pause();
     }},
    {"fails-with-requests-in-flight",
     [](Transport& transport) {
       Unhelpful service(true);
       transport.serve(&service);
       if (transport.rank() == 0) {
         usleep(100000);
         transport.withdraw();
         throw Error(ExitCode::kDiverged, "loss is not finite");
       }
       ask_next(transport);
     }},
    // Requests to itself and to the next rank are in flight. The rank withdraws its service first, then the exception
    // destroys the Pending, which waits.
    {"fails-with-requests-of-its-own-in-flight",
     [](Transport& transport) {
       Unhelpful service(true);
       transport.serve(&service);
       std::vector<float> values(200);
       const std::vector<ServiceRequest> requests = {
           {transport.rank(), 0, Slice(values).first(100)},
           {(transport.rank() + 1) % transport.size(), 1, Slice(values).last(100)}};
       Pending pending = transport.request(requests);
       if (transport.rank() != 0) pending.wait();
       usleep(100000);
       transport.withdraw();
       throw Error(ExitCode::kDiverged, "loss is not finite");
     }},
    {"service-throws",
     [](Transport& transport) {
       Unhelpful service(false);
       transport.serve(&service);
       if (transport.rank() == 1) ask_next(transport);
       transport.serve(nullptr);
     }},
    {"asks-nobody", [](Transport& transport) { ask_next(transport); }},
    {"out-of-memory",
     [](Transport& transport) {
       if (transport.rank() == 1) throw std::bad_alloc();
       exchange_for_ever(transport);
     }},
    {"says-its-name", [](Transport& transport) { throw AgreedError(ExitCode::kUsage, "it is " + transport.name()); }},
    {"out-of-step",
     [](Transport& transport) {
       std::vector<float> values(100000, transport.rank() == 0 ? 1.0f : 7.0f);
       const Slice mine = transport.rank() == 0 ? Slice(values) : Slice(values).first(5000);
       const Pending pending = transport.broadcast(mine, 0);
       std::this_thread::sleep_for(std::chrono::milliseconds(transport.rank() == 0 ? 10000 : 300));
       const bool is_whole = std::ranges::count(values, 7.0f) >= 95000;
       std::fputs(is_whole ? "eave: what lies behind is whole\n" : "eave: what lies behind was written\n", stderr);
       transport.abort(ExitCode::kInternal);
     }},
};

}  // namespace

int main(int argc, char** argv) {
  const auto ending = kEndings.find(argc > 1 ? argv[1] : "");
  if (ending == kEndings.end()) return 1;
  const std::string name = argc > 2 ? argv[2] : "mpi";
  if (argc > 3)
    return run_mpi_job(ending->second, {.name = name, .start_limit = std::chrono::milliseconds(std::stoi(argv[3]))});
  return find_kind(transport_kinds(), name).run(0, ending->second);
}
