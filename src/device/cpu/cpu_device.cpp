// The CPU as a Device. It calls kernels/cpu, and Eigen where a plain expression is enough.
#include <algorithm>

#include "base/host.h"
#include "device/cpu/flat.h"
#include "eave/check.h"
#include "eave/device.h"
#include "kernels/cpu/exact_product.h"
#include "kernels/flat/flat_pass.h"

namespace eave {
namespace {

class Reached final : public DeviceMark {
 public:
  bool reached() override { return true; }
  void wait() override {}
};

class Known final : public DeviceAnswer {
 public:
  explicit Known(bool answer) : answer_(answer) {}
  bool get() override { return answer_; }

 private:
  bool answer_;
};

class CpuCopies final : public CopyQueue {
 public:
  void read(ConstSlice from, Slice host) override { flat::copy(host, from); }
  void write(Slice into, ConstSlice host) override { flat::copy(into, host); }
  void add(Slice into, ConstSlice from) override { flat::add_scaled(into, 1, from); }
  void wait() override {}
};

class CpuDevice final : public Device {
 public:
  DeviceKind kind() const override { return DeviceKind::kCpu; }
  std::string name() const override { return "cpu"; }

  Buffer allocate(std::size_t size) override { return Buffer(size); }
  Buffer allocate_for_host(std::size_t size) override { return Buffer(size); }
  bool holds(ConstSlice values) const override { return !values.empty(); }
  std::int64_t free_bytes() override { return available_memory_bytes(); }
  void read(ConstSlice from, Slice host) override { flat::copy(host, from); }
  void write(Slice into, ConstSlice host) override { flat::copy(into, host); }
  void wait() override {}
  std::shared_ptr<DeviceMark> mark() override { return reached_; }
  std::unique_ptr<CopyQueue> make_copy_queue() override { return std::make_unique<CpuCopies>(); }

  void copy(Slice into, ConstSlice from) override { flat::copy(into, from); }
  void copy_rows(const RowsCopy& shape, Slice into, ConstSlice from) override {
    EAVE_CHECK(shape.fits(into, from), "matrices of the wrong sizes");
    for (std::int64_t row = 0; row < shape.rows; ++row)
      std::copy_n(from.data() + row * shape.from_row, shape.columns, into.data() + row * shape.into_row);
  }
  void fill(Slice values, float value) override { flat::fill(values, value); }
  void scale(Slice values, float factor) override { flat::scale(values, factor); }
  void add_scaled(Slice into, float factor, ConstSlice from) override { flat::add_scaled(into, factor, from); }
  double norm(ConstSlice values) override { return flat::norm(values); }
  double distance(ConstSlice a, ConstSlice b) override { return flat::distance(a, b); }
  std::shared_ptr<DeviceAnswer> all_finite(ConstSlice values) override { return flat::all_finite(values) ? yes_ : no_; }
  void multiply(const MatrixProduct& product, ConstSlice a, ConstSlice b, Slice into) override {
    EAVE_CHECK(product.fits(a, b, into), "matrices of the wrong sizes");
    cpu::multiply_exactly(product.rows, product.columns, product.inner, {a.data(), product.a_is_transposed},
                          {b.data(), product.b_is_transposed}, into.data());
  }
  std::shared_ptr<DeviceAnswer> run(const FlatPass& pass) override { return cpu::run(pass) ? yes_ : no_; }

 private:
  const std::shared_ptr<DeviceMark> reached_ = std::make_shared<Reached>();
  const std::shared_ptr<DeviceAnswer> yes_ = std::make_shared<Known>(true), no_ = std::make_shared<Known>(false);
};

}  // namespace

Device& cpu_device() {
  static CpuDevice device;
  return device;
}

}  // namespace eave
