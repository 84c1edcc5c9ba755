// Collectives that a device carries out in its own memory, with its vendor's library (NCCL).
#pragma once

#include <memory>
#include <string>

#include "eave/slice.h"

namespace eave {

// Advice for people whose NCCL fails.
inline constexpr const char* kWithoutNccl = "--transport mpi or --transport tcp does without NCCL";

// Tracks one operation of DeviceCollectives. When the operation has been reached and nobody needs the ticket any more,
// it may be used for another operation.
class DeviceTicket {
 public:
  virtual ~DeviceTicket() = default;
  // Any thread may call these two once the device has got the operation, until the ticket gets another one.
  virtual bool begun() = 0;            // whether the device has finished all that comes before the operation
  virtual bool reached() = 0;          // whether the device has finished the operation
  virtual void hold_up_device() = 0;   // later calls to the device run after the operation
  virtual double seconds() const = 0;  // only once reached: from the moment this rank's values were ready to the end
};

// An operation runs after all earlier calls to the device, and concurrently with later ones. Operations run in the
// order of the calls. The device's thread makes all calls; any thread may call has_failed.
//
// A watcher finds each failure that the library reports, such as one of the network, within a second, and aborts all
// operations in flight. From then on, check() and all other calls except those of tickets throw the error. The library
// need not report a lost peer: NCCL does not on the same host, where GPUs write into each other's memory. Operations
// with that peer then stay in flight, until the watchdog (src/guard/watchdog.h) ends the job.
class DeviceCollectives {
 public:
  // Waits, for at most a few seconds, until the other ranks no longer need this rank.
  virtual ~DeviceCollectives() = default;

  // The first rank of a group makes a word, and all ranks of the group use it to find each other. It has at most
  // kLongestWord bytes.
  static constexpr std::size_t kLongestWord = 256;
  virtual std::string make_word() = 0;
  // Collective over the `size` ranks of a group; `place` is this rank's index in the group. Blocks until all have
  // joined, for a limited time. Returns this rank's number for the group. Throws Error(kResource) if the group does not
  // form.
  virtual int join(const std::string& word, int place, int size) = 0;

  virtual std::unique_ptr<DeviceTicket> make_ticket() = 0;
  // The sums and broadcasts work in place. `root` is a place in the group.
  virtual void all_reduce_sum(int group, Slice values, DeviceTicket& ticket) = 0;
  // Call it before sum_with. The first time with a rank it waits for all that this device was given so far.
  virtual void prepare_pair(int group, int other) = 0;
  // The sum of two ranks of a group: this one, and the one at place `other`, which calls it too. It needs no group of
  // the two, so a rank may call it with all others in turn. The bits are those of all_reduce_sum in a group of the two.
  virtual void sum_with(int group, int other, Slice values, DeviceTicket& ticket) = 0;
  virtual void broadcast(int group, Slice values, int root, DeviceTicket& ticket) = 0;

  // True from the moment a failure is found; see above. Operations in flight are aborted.
  virtual bool has_failed() const noexcept = 0;
  virtual void check() const = 0;  // throws Error(kPeerLost), or kResource if this rank is to blame
};

// A Device with such a library also implements this interface (test with dynamic_cast).
class CollectiveDevice {
 public:
  virtual ~CollectiveDevice() = default;
  virtual std::string bus_id() const = 0;  // identifies a device within its host: "0000:3b:00.0"
  // "NCCL 2.28.9", or empty if there is no library. Throws Error(kResource) if eave was not built for its version.
  virtual std::string collective_library() const = 0;
  // The device must outlive the result.
  virtual std::unique_ptr<DeviceCollectives> make_collectives() = 0;
};

}  // namespace eave
