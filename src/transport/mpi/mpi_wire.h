// The wire of the transports `mpi` and `mpi-flat`: MessageWire over the messages of MPI-3.
#pragma once

#include <memory>
#include <mutex>
#include <utility>

#include "transport/messages/message_wire.h"
#include "transport/mpi/mpi_messages.h"

namespace eave {

using MpiWireSettings = MessageWireSettings;

class MpiWire final : public MessageWire {
 public:
  // Collective over `communicator`. The communicator is not owned, has MPI_ERRORS_RETURN set, and nobody else uses it.
  // Every thread of this process that calls MPI holds `in_mpi`.
  explicit MpiWire(MPI_Comm communicator, MpiWireSettings settings = {},
                   std::shared_ptr<std::mutex> in_mpi = std::make_shared<std::mutex>())
      : MessageWire(std::make_unique<MpiMessages>(communicator, std::move(in_mpi)), std::move(settings)) {}
};

}  // namespace eave
