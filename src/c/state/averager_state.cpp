#include "c/state/averager_state.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/options/number_text.h"
#include "communicator/support/plugin_checks.h"
#include "eave/check.h"

namespace eave {
std::vector<NamedSlice> vectors_of(const ReplicaView& replica, Slice counts, Communicator& communicator) {
  std::vector<NamedSlice> vectors = {
      {"parameters", replica.parameters}, {"statistics", replica.statistics}, {kCounters, counts}};
  append_slices(vectors, "communicator", communicator.state());
  return vectors;
}

std::vector<float> pack_bytes(std::string_view bytes) {
  const std::uint64_t count = bytes.size();
  std::vector<float> packed((sizeof count + count + sizeof(float) - 1) / sizeof(float));
  auto* const into = reinterpret_cast<char*>(packed.data());
  std::memcpy(into, &count, sizeof count);
  if (count > 0) std::memcpy(into + sizeof count, bytes.data(), count);
  return packed;
}

std::string_view unpack_bytes(ConstSlice packed) {
  std::uint64_t count = 0;
  if (packed.size_bytes() >= sizeof count) std::memcpy(&count, packed.data(), sizeof count);
  if (packed.size_bytes() < sizeof count || count > packed.size_bytes() - sizeof count)
    throw Error(ExitCode::kBadData,
                "the state was cut: the bytes that the caller added to it are not all there; restore another one");
  return {reinterpret_cast<const char*>(packed.data()) + sizeof count, count};
}

std::vector<float> pack_steps(const ObservedSteps& steps) {
  CheckpointedNumbers numbers(3);
  numbers.set(0, steps.number);
  numbers.set(1, steps.untold);
  numbers.set(2, steps.learning_rate);
  const Slice values = numbers.slice();
  return {values.begin(), values.end()};
}

std::optional<ObservedSteps> observed_in(const SavedRank& state) {
  CheckpointedNumbers numbers(3);
  if (!state.has(kObserved) || state.values(kObserved).size() != numbers.slice().size()) return std::nullopt;
  std::ranges::copy(state.values(kObserved), numbers.slice().begin());
  return ObservedSteps{numbers.integer(0), numbers.integer(1), numbers.real(2)};
}

void count_as_told(TrainingProgress& progress) {
  const UnrecordedSteps rest = std::exchange(progress.unrecorded, {});
  progress.waiting += rest.waiting;
  progress.bytes += rest.bytes;
}

ElasticState::ElasticState(const ReplicaView& replica, const SavedStates& saved, int rank, std::string plugin)
    : replica_(replica), saved_(saved), was_there_(rank < saved.ranks()), plugin_(std::move(plugin)) {
  const ConstSlice consensus = saved.first.values(saved.first.header.consensus);
  if (consensus.size() != replica.parameters.size())
    throw Error(ExitCode::kBadData, "the state's consensus has " + count_text(consensus.size(), "value") +
                                        ", and this model " + count_text(replica.parameters.size(), "parameter") +
                                        "; restore a state of the same model");
  write_values(*replica.device, replica.parameters, consensus);
}

Joining ElasticState::restore(Communicator& communicator, Slice counts, bool keeps_workers) {
  const bool goes_on = was_there_ && keeps_workers;
  restore_common(vectors_of(replica_, counts, communicator), communicator);
  write_values(*replica_.device, counts, (was_there_ ? saved_.mine : saved_.first).values(kCounters));
  if (goes_on) write_values(*replica_.device, replica_.parameters, saved_.mine.values("parameters"));
  const std::vector<Slice> own = communicator.own_state();  // this may add slices to state()
  for (const NamedSlice& vector : vectors_of(replica_, counts, communicator)) {
    if (was_there_ && is_among(own, vector.values) && saved_.mine.fits(vector))
      write_values(*replica_.device, vector.values, saved_.mine.values(vector.name));
  }
  return {goes_on, saved_.ranks()};
}

// Restores the vectors of the method that are common by its own word, and those as large as the parameters that were
// equal on all ranks. From one former rank one cannot tell what all ranks had in common. With other groups, a method
// may keep something else under the same name.
void ElasticState::restore_common(const std::vector<NamedSlice>& vectors, Communicator& communicator) const {
  const std::vector<Slice> common = communicator.common_state();
  const bool tells_what_was_equal = saved_.ranks() > 1 && std::ranges::all_of(vectors, [&](const NamedSlice& vector) {
                                      return saved_.first.has(vector.name);
                                    });
  const auto was_equal = [&](const NamedSlice& vector) {
    const auto& of_first = saved_.first.header.vectors;
    const auto known = std::ranges::find(of_first, vector.name, &CheckpointVector::name);
    return known != of_first.end() && std::ranges::all_of(saved_.headers, [&](const CheckpointHeader& header) {
             return std::ranges::find(header.vectors, *known) != header.vectors.end();
           });
  };
  for (const NamedSlice& vector : vectors) {
    if (!vector.name.starts_with("communicator.")) continue;
    const bool is_equal =
        tells_what_was_equal && vector.values.size() == replica_.parameters.size() && was_equal(vector);
    const bool is_common = is_among(common, vector.values), has_fit = saved_.first.fits(vector);
    if (is_common && !has_fit && !plugin_.empty()) refuse_unfit_slice(plugin_, vector.name, vector.values);
    if ((is_equal || is_common) && has_fit)
      write_values(*replica_.device, vector.values, saved_.first.values(vector.name));
  }
}

}  // namespace eave
