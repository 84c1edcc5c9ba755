// Sums between ranks that a device carries out in its own memory, by a library of its own: NCCL.
#pragma once

#include <memory>
#include <string>

#include "eave/slice.h"

namespace eave {

// One operation of DeviceCollectives. Used again for another when it is reached and nobody needs it any more.
class DeviceTicket {
 public:
  virtual ~DeviceTicket() = default;
  virtual bool reached() = 0;          // whether the operation has been carried out
  virtual void hold_up_device() = 0;   // what is called of the device from now on takes place after it
  virtual double seconds() const = 0;  // once reached: from when this rank's values were there to the end
};

// Operations are enqueued behind what was called of the device so far, beside what is called of it afterwards, and
// carried out in the order of the calls. The device's thread calls all but has_failed. Whatever fails, a peer that is
// gone among it, is found within a second by a watcher, which ends all that is in flight. From then on check and all
// calls but reached throw what has failed.
class DeviceCollectives {
 public:
  // For at most some seconds, waits until the others need this rank no more.
  virtual ~DeviceCollectives() = default;

  // A word that the first rank of a group makes, and by which all of it find each other. At most kLongestWord bytes.
  static constexpr std::size_t kLongestWord = 256;
  virtual std::string make_word() = 0;
  // Collective among a group of `size` ranks: blocks until all have come, for a limited time. Returns the group's
  // number here. Throws Error(kResource).
  virtual int join(const std::string& word, int place, int size) = 0;

  virtual std::unique_ptr<DeviceTicket> make_ticket() = 0;
  // In place. `root` is a place in the group.
  virtual void all_reduce_sum(int group, Slice values, DeviceTicket& ticket) = 0;
  virtual void broadcast(int group, Slice values, int root, DeviceTicket& ticket) = 0;

  virtual bool has_failed() const noexcept = 0;  // what is in flight is being ended
  virtual void check() const = 0;                // throws Error(kPeerLost), or kResource where this rank is to blame
};

// A Device that has such a library is one of these too (dynamic_cast tells).
class CollectiveDevice {
 public:
  virtual ~CollectiveDevice() = default;
  virtual std::string bus_id() const = 0;  // tells the devices of a host apart: "0000:3b:00.0"
  // "NCCL 2.28.9"; empty: there is none. Throws Error(kResource) if it is of a version that eave was not built for.
  virtual std::string collective_library() const = 0;
  // The device outlives them.
  virtual std::unique_ptr<DeviceCollectives> make_collectives() = 0;
};

}  // namespace eave
