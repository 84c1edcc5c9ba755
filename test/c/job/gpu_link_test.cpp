// How averagers on GPUs exchange, and what rank 0 says about it. Ranks are threads, and GPUs are lazy devices.
#include "c/gpu_link.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/host.h"
#include "test/expectations.h"
#include "test/transport/nccl/lazy_collectives.h"
#include "test/transport/ranks.h"

namespace eave {
namespace {

struct Linked {
  std::string transport;  // that rank 0 uses: "" without a link
  std::vector<std::string> warnings;
};

// Rank i uses the GPU gpus[i].
Linked link(const std::vector<std::string>& gpus, bool tries_nccl) {
  Linked found;
  on_ranks({"threads", static_cast<int>(gpus.size())}, [&](Transport& threads) {
    const CollectiveLazyDevice gpu({.bus_id = gpus[static_cast<std::size_t>(threads.rank())]});
    CollectiveLazyDevice attached({.bus_id = gpu.bus_id()});
    const auto warn = [&](const std::string& text) {
      EXPECT_EQ(threads.rank(), 0);
      found.warnings.push_back(text);
    };
    std::shared_ptr<const CallRecord> watched;
    const auto made = make_gpu_link(threads, gpu, {tries_nccl, warn, [&](const auto& calls) { watched = calls; }});
    EXPECT_EQ(watched != nullptr, made != nullptr);
    if (!made) return;
    EXPECT_EQ(watched, made->device_calls());
    const Attachment attachment(*made, attached);
    if (threads.rank() == 0) found.transport = made->name();
  });
  return found;
}

TEST(GpuLink, is_nccl_if_each_rank_has_its_own_gpu_and_no_transport_was_named) {
  EXPECT_EQ(link({"a", "b", "c"}, true).transport, "nccl");
  EXPECT_EQ(link({"a", "b", "c"}, false).transport, "");
  EXPECT_EQ(link({"a"}, true).transport, "");
  for (const bool tries_nccl : {true, false}) {
    EXPECT_TRUE(link({"a", "b", "c"}, tries_nccl).warnings.empty());
    EXPECT_TRUE(link({"a"}, tries_nccl).warnings.empty());
  }
}

TEST(GpuLink, ranks_that_share_a_gpu_are_named_once_with_what_to_write) {
  for (const bool tries_nccl : {true, false}) {
    const Linked found = link({"a", "b", "b", "a", "a"}, tries_nccl);
    EXPECT_EQ(found.transport, "");
    ASSERT_EQ(found.warnings.size(), 1u);
    for (const std::string& words :
         {"ranks 0, 3, 4 on " + host_name() + " share one GPU", std::string("(a)"),
          std::string("torch.cuda.set_device(eave.local_rank())"), std::string("gpu=N with N from eave_local_rank()")})
      EXPECT_TRUE(says(found.warnings[0], words));
  }
}

}  // namespace
}  // namespace eave
