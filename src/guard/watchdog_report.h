// The reports of a watchdog: the texts of its messages, and a file with the last calls of a rank.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/files/output_file.h"
#include "guard/rank_calls.h"
#include "guard/rank_progress.h"

namespace eave {

// A time as text: "15 s" or "0.25 s".
std::string seconds_text(double seconds);
// Names ranks: "rank 2 on b", "ranks 2 on b, 3 on b" or "ranks 2 on b … and 5 more".
std::string name_ranks(std::span<const int> ranks, const std::vector<std::string>& hosts);
// Describes a call: "a sum of 4096 bytes (call 17)".
std::string describe_call(const Call& call);
// Says which rank keeps this rank in `call`: "rank 2 on b has not answered for 15 s", "rank 3 on c is still computing
// step 812, for 15 s", or "all ranks are in a sum of 4096 bytes (call 17), for 15 s". `seconds`: how long `call` lasts,
// which may be far longer than a rank is silent. If the call's sequence is below -1, this rank waits for rank 0 before
// a step.
std::string describe_wait(const Peers& peers, std::span<const int> silent, const Call& call, double seconds,
                          const std::vector<std::string>& hosts);
// Says which two calls two ranks are in, where all ranks must make the same call.
std::string describe_difference(int rank, const Call& mine, int other, const Call& theirs,
                                const std::vector<std::string>& hosts);

// The last calls of a rank, for people who look for the reason why a run ended:
// {"rank", "host", "reason", "calls": [{"sequence", "meeting", "operation", "bytes", "root", "ranks", "start", "end"}]}
// and, with NCCL, "device_calls": the same fields for the operations that the GPU carries out.
// Times are in seconds since the first call that is kept. "end" is null if the call has not ended. "meeting"
// (Call::collective) and "root" are null if the call has none.
std::string calls_as_json(const RankCalls& calls, int rank, const std::string& host, const std::string& reason);

// Writes calls-rank-R.json into `directory`. Does not flush it to disk. Returns whether it succeeded. If a file server
// does not answer, it does not return.
bool write_calls(const std::string& directory, int rank, const std::string& json,
                 FileCalls& calls = system_file_calls()) noexcept;

}  // namespace eave
