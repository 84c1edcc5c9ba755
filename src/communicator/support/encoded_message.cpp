#include "communicator/support/encoded_message.h"

namespace eave {

std::size_t message_size(const Codec* codec, std::size_t values) {
  return codec ? (encoded_bytes(*codec, values) + sizeof(float) - 1) / sizeof(float) : values;
}

void EncodedMessage::begin(const CenterLayout& layout, Device& device, std::size_t size) {
  if (!codec_) return;
  layout_ = &layout;
  device_ = &device;
  std::size_t all = 0;
  for (std::size_t i = 0; i < layout.shards(); ++i) all += message_size(codec_.get(), layout.shard(i).size);
  encoded_ = Buffer(all);
  if (device.kind() != DeviceKind::kCpu) staged_ = device.allocate_for_host(size);
  std::size_t at = 0;
  for (std::size_t i = 0; i < layout.shards(); ++i) {
    shards_.push_back(encoded_.slice().subspan(at, message_size(codec_.get(), layout.shard(i).size)));
    at += shards_.back().size();
  }
}

template <class Visit>
void EncodedMessage::visit_shards(Slice message, Visit visit) {
  for (std::size_t i = 0; i < shards_.size(); ++i) {
    visit(cut(message, layout_->shard(i)), reinterpret_cast<std::byte*>(shards_[i].data()));
  }
}

void EncodedMessage::encode(Slice message) {
  const bool is_staged = staged_.size() > 0;
  if (is_staged) device_->read(message, staged_.slice());
  visit_shards(is_staged ? staged_.slice() : message,
               [this](Slice shard, std::byte* bytes) { eave::encode(*codec_, shard, bytes); });
}

void EncodedMessage::decode(Slice message) {
  const bool is_staged = staged_.size() > 0;
  visit_shards(is_staged ? staged_.slice() : message,
               [this](Slice shard, std::byte* bytes) { eave::decode(*codec_, shard, bytes); });
  if (is_staged) device_->write(message, staged_.slice());
}

}  // namespace eave
