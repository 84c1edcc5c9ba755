#include "eave/loader.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/thread.h"
#include "data/loading/read_ahead.h"
#include "data/loading/thread_pool.h"
#include "data/sampling/augment.h"
#include "eave/check.h"

namespace eave {
namespace {

// A batch and the memory that its views refer to.
struct Slot {
  Batch batch;
  std::vector<float> inputs;
  std::vector<std::int32_t> labels;
  std::vector<std::int64_t> indices;
  std::exception_ptr error;

  void reserve(std::int64_t samples, std::int64_t values, std::int64_t targets) {
    inputs.resize(static_cast<std::size_t>(samples * values));
    labels.resize(static_cast<std::size_t>(samples * targets));
    indices.resize(static_cast<std::size_t>(samples));
  }
  // Points the batch at the first `samples` of the reserved memory.
  void show(std::int64_t samples, std::int64_t values, std::int64_t targets) {
    batch.samples = samples;
    batch.targets = targets;
    batch.inputs = ConstSlice(inputs).first(static_cast<std::size_t>(samples * values));
    batch.labels = std::span(labels).first(static_cast<std::size_t>(samples * targets));
    batch.indices = std::span(indices).first(static_cast<std::size_t>(samples));
  }
};

// Reads the samples whose indices are in a slot.
class BatchFiller {
 public:
  BatchFiller(const DataSplit& split, const Dataset& dataset, const Augmentation& augmentation)
      : dataset_(dataset),
        images_(&dataset == split.train.get()        ? split.train_images
                : &dataset == split.test.get()       ? split.test_images
                : &dataset == split.validation.get() ? split.validation_images
                                                     : nullptr),
        pool_(images_ == nullptr ? split.reading_threads : 1) {
    const auto threads = static_cast<std::size_t>(pool_.size());
    if (const TokenDataset* const text = dataset.tokens()) {
      tokens_.assign(threads, std::vector<std::int32_t>(static_cast<std::size_t>(text->context()) + 1));
      return;
    }
    transform_.emplace(dataset.shape(), augmentation, split.mean, split.deviation);
    pixels_.assign(threads, std::vector<std::uint8_t>(static_cast<std::size_t>(dataset.shape().size())));
  }

  const ImageTransform& transform() const { return *transform_; }  // of images only
  void reserve(Slot& slot, std::int64_t samples) const { slot.reserve(samples, values(), targets()); }

  // `place` gives the Placing of the image with an index; it is not asked about text.
  template <typename Place>
  void fill(Slot& slot, std::int64_t samples, std::int64_t step, Place place) {
    pool_.parallel_for(samples, [&](std::int64_t number, int thread) {
      const auto i = static_cast<std::size_t>(number), of_thread = static_cast<std::size_t>(thread);
      if (dataset_.tokens() != nullptr) return fill_window(slot, i, tokens_[of_thread]);
      const std::int64_t index = slot.indices[i];
      if (images_ == nullptr) {
        const auto values = static_cast<std::size_t>(this->values());
        dataset_.read(index, pixels_[of_thread]);
        transform_->apply(pixels_[of_thread], place(index), std::span(slot.inputs).subspan(i * values, values));
      }
      slot.labels[i] = dataset_.label(index);
    });
    slot.batch.step = step;
    slot.batch.images = images_;
    slot.show(samples, values(), targets());
  }

 private:
  // The number of floats in one sample's input.
  std::int64_t values() const {
    if (dataset_.tokens() != nullptr) return targets();
    return images_ == nullptr ? transform_->output().size() : 0;
  }
  std::int64_t targets() const { return dataset_.tokens() == nullptr ? 1 : dataset_.tokens()->context(); }

  // After the end of the text the input is token 0, and no loss is taken.
  void fill_window(Slot& slot, std::size_t i, std::span<std::int32_t> tokens) const {
    dataset_.tokens()->read_tokens(slot.indices[i], tokens);
    const std::size_t context = tokens.size() - 1, first = i * context;
    for (std::size_t k = 0; k < context; ++k) {
      slot.inputs[first + k] = static_cast<float>(std::max(tokens[k], 0));
      slot.labels[first + k] = tokens[k + 1];
    }
  }

  const Dataset& dataset_;
  const DeviceImages* images_;  // nullptr: this object writes the floats
  std::optional<ImageTransform> transform_;
  ThreadPool pool_;
  std::vector<std::vector<std::uint8_t>> pixels_;  // one buffer per thread
  std::vector<std::vector<std::int32_t>> tokens_;  // likewise
};

std::int64_t largest_batch(const Sampler& sampler, int rank) {
  // Only the last step of an epoch may have another size than the first.
  return std::max(sampler.samples(0, rank), sampler.samples(sampler.steps_per_epoch() - 1, rank));
}

}  // namespace

std::unique_ptr<DeviceImages> load_images(Compute& compute, const DataSplit& split, const Dataset& dataset,
                                          const Augmentation& augmentation, bool random, std::uint64_t seed) {
  if (dataset.tokens() != nullptr) return nullptr;
  const ImageTransform transform(dataset.shape(), augmentation, split.mean, split.deviation);
  // Made when the first image is asked for; none is if the images stay with the host.
  std::optional<ReadAhead> ahead;
  return compute.load_images(
      dataset.size(),
      {dataset.shape(), transform.output(), augmentation.pad, augmentation.flip, random, seed, transform.tables()},
      [&](std::int64_t index, std::span<std::uint8_t> pixels) {
        if (split.reading_threads == 1) return dataset.read(index, pixels);
        if (!ahead) ahead.emplace(dataset, split.reading_threads);
        ahead->read(index, pixels);
      });
}

// Slots form a ring. `produced` and `consumed` count steps. The consumer uses slot consumed − 1 and the thread writes
// slot `produced`, so with depth + 1 slots the two never meet.
struct Loader::State {
  State(const DataSplit& split, Sampler& from, const Settings& with)
      : sampler(from), settings(with), filler(split, *split.train, with.augmentation) {
    EAVE_CHECK(settings.depth >= 1, "a loader holds at least one batch ahead");
    EAVE_CHECK(settings.first_step >= 0 && settings.first_step <= settings.last_step, "steps in order");
    slots.resize(static_cast<std::size_t>(settings.depth) + 1);
    for (Slot& slot : slots) filler.reserve(slot, largest_batch(sampler, settings.rank));
  }

  std::int64_t steps() const { return settings.last_step - settings.first_step; }
  Slot& slot_of(std::int64_t number) { return slots[static_cast<std::size_t>(number) % slots.size()]; }

  void load(Slot& slot, std::int64_t step) {
    const std::int64_t epoch = step / sampler.steps_per_epoch(), in_epoch = step % sampler.steps_per_epoch();
    const std::int64_t samples = sampler.samples(in_epoch, settings.rank);
    sampler.indices(epoch, in_epoch, settings.rank, std::span(slot.indices).first(static_cast<std::size_t>(samples)));
    filler.fill(slot, samples, step,
                [&](std::int64_t index) { return filler.transform().random(settings.seed, step, index); });
  }

  // Returns false if the loader is being destroyed.
  bool wait_for_room() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return stop || produced - consumed < settings.depth; });
    return !stop;
  }

  void run() {
    for (std::int64_t number = 0; number < steps() && wait_for_room(); ++number) {
      Slot& slot = slot_of(number);
      slot.error = nullptr;
      try {
        load(slot, settings.first_step + number);
      } catch (...) {
        slot.error = std::current_exception();
      }
      const std::lock_guard lock(mutex);
      ++produced;
      changed.notify_all();
    }
  }

  Sampler& sampler;
  Settings settings;
  BatchFiller filler;
  std::vector<Slot> slots;
  std::mutex mutex;
  std::condition_variable changed;
  std::int64_t produced = 0;
  std::int64_t consumed = 0;
  bool stop = false;
  double seconds_waited = 0;
  std::thread thread;
};

Loader::Loader(const DataSplit& split, Sampler& sampler, const Settings& settings)
    : state_(std::make_unique<State>(split, sampler, settings)) {
  state_->thread = start_thread("to load samples", [state = state_.get()] { state->run(); });
}

Loader::~Loader() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->stop = true;
  }
  state_->changed.notify_all();
  state_->thread.join();
}

const Batch& Loader::next() {
  State& state = *state_;
  EAVE_CHECK(state.consumed < state.steps(), "next() was called for more steps than the loader was made for");
  std::unique_lock lock(state.mutex);
  if (state.produced == state.consumed) {
    const auto begin = std::chrono::steady_clock::now();
    state.changed.wait(lock, [&] { return state.produced > state.consumed; });
    state.seconds_waited += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }
  const Slot& slot = state.slot_of(state.consumed++);
  state.changed.notify_all();
  if (slot.error) std::rethrow_exception(slot.error);
  return slot.batch;
}

double Loader::seconds_waited() const { return state_->seconds_waited; }

void for_each_evaluation_batch(const DataSplit& split, const Dataset& dataset, const Augmentation& augmentation,
                               std::int64_t first, std::int64_t last, std::int64_t batch,
                               const std::function<void(const Batch&)>& consume) {
  EAVE_CHECK(first >= 0 && first <= last && last <= dataset.size() && batch > 0, "a part of the dataset, in batches");
  if (first == last) return;
  BatchFiller filler(split, dataset, augmentation);
  Slot slot;
  batch = std::min(batch, last - first);
  filler.reserve(slot, batch);
  for (std::int64_t number = 0; first < last; ++number, first += batch) {
    const std::int64_t samples = std::min(batch, last - first);
    for (std::int64_t i = 0; i < samples; ++i) slot.indices[static_cast<std::size_t>(i)] = first + i;
    filler.fill(slot, samples, number, [&](std::int64_t) { return filler.transform().centre(); });
    consume(slot.batch);
  }
}

}  // namespace eave
