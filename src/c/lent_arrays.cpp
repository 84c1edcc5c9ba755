#include "c/lent_arrays.h"

#include <algorithm>
#include <string>

#include "transport/decorators/forwarding.h"

namespace eave {
namespace {

class BorrowingTransport final : public ForwardingTransport {
 public:
  BorrowingTransport(Transport& inner, LentArrays& arrays) : ForwardingTransport(inner), arrays_(arrays) {}
  BorrowingTransport(const BorrowingTransport&) = delete;
  BorrowingTransport& operator=(const BorrowingTransport&) = delete;
  ~BorrowingTransport() override {
    for (const Slice each : borrowed_) arrays_.give_back(each);
  }

  Slice lend(std::size_t size) override {
    const Slice values = arrays_.lend(inner_, size);
    if (!values.empty()) borrowed_.push_back(values);
    return values;
  }

 private:
  LentArrays& arrays_;
  std::vector<Slice> borrowed_;
};

}  // namespace

// After an error, one rank may have closed its averager and another one not. Then the ranks do not agree on an array,
// and all of them take a new one. The ranks' texts travel behind all sums that this rank has queued, so none of these
// sums still uses the array.
Slice LentArrays::lend(Transport& transport, std::size_t size) {
  if (!all_.empty()) {
    const auto free =
        std::ranges::find_if(all_, [&](const Lent& each) { return each.is_free && each.values.size() == size; });
    const std::string place = free == all_.end() ? "" : std::to_string(free - all_.begin());
    const std::vector<std::string> places = transport.all_gather(place);
    if (!place.empty() && std::ranges::all_of(places, [&](const std::string& each) { return each == place; })) {
      free->is_free = false;
      std::ranges::fill(free->values, 0.0f);
      return free->values;
    }
  }
  const Slice values = transport.lend(size);
  if (!values.empty()) all_.push_back({values});
  return values;
}

void LentArrays::give_back(ConstSlice values) {
  for (Lent& each : all_)
    if (each.values.data() == values.data()) each.is_free = true;
}

std::unique_ptr<Transport> make_borrowing_transport(Transport& inner, LentArrays& arrays) {
  return std::make_unique<BorrowingTransport>(inner, arrays);
}

}  // namespace eave
