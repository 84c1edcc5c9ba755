// Messages between the ranks of a job, or of a part of it, over TcpLinks.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "transport/core/told_end.h"
#include "transport/messages/messages.h"
#include "transport/tcp/tcp_links.h"

namespace eave {

class TcpMessages final : public Messages {
 public:
  explicit TcpMessages(std::shared_ptr<TcpLinks> links);  // among all ranks
  // Among `ranks`, which include this one. `channel`: no other messages between these ranks have the same.
  TcpMessages(std::shared_ptr<TcpLinks> links, std::vector<int> ranks, std::uint32_t channel);

  bool advance(Requests& requests) override;
  void await_any(Bytes bytes, int tag) override;
  std::optional<int> take_any() override;
  void stop_awaiting() noexcept override {}
  void pause(std::chrono::nanoseconds at_most) override { links_->pause(at_most); }
  void hold_sends(bool is_held) override { links_->hold_sends(is_held); }
  bool ends_pauses() const override { return true; }
  void wake() noexcept override { links_->wake(); }
  std::unique_ptr<Messages> split(int part) override;
  // In a process of its own, this ends it. Otherwise it returns, and the other ranks' calls fail.
  void abort(ExitCode code) noexcept override;

 private:
  std::uintptr_t send_piece(ConstBytes bytes, int to, Tag tag) override {
    return links_->locked_send(bytes, rank_at(to), channel_, tag);
  }
  std::uintptr_t receive_piece(Bytes bytes, int from, Tag tag) override {
    return links_->locked_receive(bytes, rank_at(from), channel_, tag);
  }
  int rank_at(int place) const { return ranks_[static_cast<std::size_t>(place)]; }

  const std::shared_ptr<TcpLinks> links_;
  const std::vector<int> ranks_;
  const std::uint32_t channel_;
  Bytes awaited_;
  int awaited_tag_ = 0;
};

// Control messages go beside the others, in words of the connections themselves.
class TcpControl final : public ControlChannel, public TellsEnd {
 public:
  explicit TcpControl(TcpLinks& links) : links_(links) {}
  void post(int to, const ControlMessage& message) override { links_.post(to, message); }
  bool poll(ControlMessage& message, int& from) override { return links_.take(message, from); }
  void tell_end(ExitCode code) noexcept override { links_.tell_end(code); }

 private:
  TcpLinks& links_;
};

}  // namespace eave
