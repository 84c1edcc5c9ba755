// The CPU's Compute. Its operations are in the files that cpu_plans.h names.
#include <algorithm>
#include <cmath>
#include <new>

#include "device/cpu/cpu_plans.h"
#include "eave/check.h"
#include "kernels/cpu/elementwise.h"

namespace eave {
namespace {

class CpuCompute final : public Compute {
 public:
  CpuCompute(int threads, const cpu::WideKernels* kernels) {
    context_.threads = threads;
    // The wide kernels use one thread. With several threads, oneDNN's operations share the work.
    context_.kernels = threads > 1 ? nullptr : kernels;
    context_.kernels_of_thread = kernels;
    prepare_compute_thread(threads);
  }

  Device& device() override { return cpu_device(); }
  std::int64_t activation_size(std::int64_t values) const override { return values; }
  std::int64_t smallest_part() const override { return 0; }
  std::unique_ptr<DeviceImages> load_images(
      std::int64_t, const ImagePlacing&, const std::function<void(std::int64_t, std::span<std::uint8_t>)>&) override {
    return nullptr;
  }

  ConstSlice begin_pass(const PassKind&, const PassInputs& inputs) override {
    context_.pass.inputs.emplace(inputs);
    ++context_.pass.ticket;
    context_.pass.loss() = {};
    return inputs.batch.inputs;
  }
  void cut() override {}
  void forget_passes() noexcept override {}
  std::int64_t end_pass() override { return context_.pass.ticket; }
  bool loss_is_not_finite() const override { return !std::isfinite(context_.pass.loss(context_.pass.ticket).loss_sum); }
  LossSum loss(std::int64_t ticket) override {
    EAVE_CHECK(ticket <= context_.pass.ticket && ticket > context_.pass.ticket - kKeptLosses,
               "the loss of one of the last passes");
    return context_.pass.loss(ticket);
  }

  void add(ConstSlice a, ConstSlice b, Slice sum) override { cpu::add(a.data(), b.data(), sum.data(), count(sum)); }
  void copy(ConstSlice from, Slice into) override { std::copy_n(from.data(), into.size(), into.data()); }
  void fill(Slice values, float value) override { cpu::fill(values.data(), value, count(values)); }

 private:
  static std::int64_t count(ConstSlice values) { return static_cast<std::int64_t>(values.size()); }

  // Throws std::bad_alloc if oneDNN is out of memory, as the rest of the program does.
  std::unique_ptr<OperationPlan> make_plan(const OperationShape& any) override {
    const auto make = [&]<class Shape>(const Shape& shape) -> std::unique_ptr<OperationPlan> {
      std::unique_ptr<typename Shape::Plan> plan = make_cpu_plan(context_, shape);
      return plan;
    };
    try {
      return std::visit(make, any);
    } catch (const dnnl::error& error) {
      if (error.status == dnnl_out_of_memory) throw std::bad_alloc();
      throw;
    }
  }

  CpuContext context_;
};

}  // namespace

std::unique_ptr<Compute> make_cpu_compute(int threads) {
  const auto kernels = cpu::wide_kernels();
  return std::make_unique<CpuCompute>(threads, kernels.empty() ? nullptr : kernels.front());
}

void check_dnnl(dnnl_status_t status, const char* what) {
  if (status == dnnl_out_of_memory) throw std::bad_alloc();
  EAVE_CHECK(status == dnnl_success, std::string("oneDNN, ") + what + ": status " + std::to_string(status));
}

}  // namespace eave
