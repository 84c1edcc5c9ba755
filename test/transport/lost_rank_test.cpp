// A rank leaves while other ranks have requests in flight or wait in groups. Ranks are threads.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "test/expectations.h"
#include "test/transport/ranks.h"
#include "test/transport/services.h"

namespace eave {
namespace {

using namespace std::chrono_literals;

struct Refusing final : Service {
  bool answer(int, std::int64_t, Slice) override { return false; }
};

TEST(Lost, rank_wakes_those_whose_requests_are_in_flight) {
  for (int repeat = 0; repeat < 20; ++repeat) {
    std::vector<int> woken(4, 0);
    run_job({"threads", 4}, [&](Transport& transport) {
      Refusing service;
      Serving serving(transport, &service);
      std::vector<float> values(10);
      const std::vector<ServiceRequest> requests{{2, 0, values}, {0, 0, values}};
      if (transport.rank() == 0) {
        std::this_thread::sleep_for(std::chrono::microseconds(100 * repeat));
        transport.abort(ExitCode::kInternal);
        return;
      }
      woken[static_cast<std::size_t>(transport.rank())] =
          static_cast<int>(code_of([&] { transport.request(requests).wait(); }));
      EXPECT_THROW(transport.request(requests).wait(), Error);
      EXPECT_THROW(transport.serve(nullptr), Error);
    });
    EXPECT_EQ(woken, (std::vector<int>{0, 69, 69, 69}));
  }
}

// A rank that leaves destroys its service before the other ranks know that it has left.
TEST(Lost, rank_whose_service_is_withdrawn_answers_no_more) {
  for (int repeat = 0; repeat < 20; ++repeat) {
    const JobResult ended = run_job({"threads", 3}, [&](Transport& transport) {
      const auto service = std::make_unique<DoublingService>(transport.rank());
      Serving serving(transport, service.get());
      std::vector<float> values(1000);
      const std::vector<ServiceRequest> requests{{0, 0, values}, {1, 0, values}};
      for (int step = 0;; ++step) {
        if (step == repeat && transport.rank() == 1) throw Error(ExitCode::kDiverged, "loss is not finite");
        transport.request(requests).wait();
      }
    });
    EXPECT_EQ(ended.code, 76);
  }
}

TEST(Lost, rank_wakes_those_who_wait_in_a_group_without_it) {
  std::vector<int> woken(4, 0);
  run_job({"threads", 4}, [&](Transport& transport) {
    const std::vector<int> group{1, 2, 3};
    std::vector<float> values(10);
    if (transport.rank() == 0) std::this_thread::sleep_for(20ms);
    if (transport.rank() == 0) return transport.abort(ExitCode::kInternal);
    if (transport.rank() == 3) return;
    woken[static_cast<std::size_t>(transport.rank())] =
        static_cast<int>(code_of([&] { transport.all_reduce_sum(values, group).wait(); }));
  });
  EXPECT_EQ(woken, (std::vector<int>{0, 69, 69, 0}));
}

TEST(Service, that_throws_ends_the_job) {
  struct Throwing final : Service {
    bool answer(int, std::int64_t, Slice) override { throw Error(ExitCode::kBadData, "bad values"); }
  };
  const JobResult ended = run_job({"threads", 3}, [](Transport& transport) {
    Throwing service;
    Serving serving(transport, &service);
    std::vector<float> values(10);
    const std::vector<ServiceRequest> requests{{1, 0, values}};
    if (transport.rank() == 2) transport.request(requests).wait();
    serving.end();
  });
  EXPECT_EQ(ended.code, 65);
}

TEST(Service, that_an_owner_does_not_have_is_an_error_for_who_asks) {
  for (const char* name : {"loopback", "threads"})
    for (int ranks : {1, 2}) {
      if (ranks > 1 && std::string(name) == "loopback") continue;
      on_ranks({name, ranks}, [](Transport& transport) {
        std::vector<float> values(10);
        const std::vector<ServiceRequest> requests{{0, 0, values}}, nobody{{transport.size(), 0, values}};
        EXPECT_THROW(transport.request(requests).wait(), Error);
        EXPECT_THROW(transport.request(nobody), Error);
      });
    }
}

TEST(Service, that_can_never_answer_a_single_rank_is_an_error) {
  on_ranks({"threads", 1}, [](Transport& transport) {
    Refusing service;
    transport.serve(&service);
    std::vector<float> values(10);
    const std::vector<ServiceRequest> requests{{0, 0, values}};
    EXPECT_THROW(transport.request(requests), Error);
    transport.serve(nullptr);
  });
}

}  // namespace
}  // namespace eave
