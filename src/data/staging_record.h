// What --stage-to knows of its copies: of what each is one, and its hash.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "data/staged_folder.h"

namespace eave {

// By what a file is known again: programs can set the time of modification back, but not that of change.
struct FileState {
  std::int64_t size = 0, inode = 0, modified_ns = 0, changed_ns = 0;
  bool operator==(const FileState&) const = default;
};
FileState state_of_file(int file);

struct StagedCopy {
  std::string hash;  // XXH3 of the bytes that were copied, as text
  FileState original, copy;
  std::int64_t looked_at_s = 0;  // when the copy was last read and had that hash, in seconds since 1970
};

// Kept in the file eave-staged of a folder, a line for each copy; a line that is added replaces earlier ones of the
// same name. It finds damage and changes by accident. Who may write in the folder can forge it.
class StagingRecord {
 public:
  // Reads the record. A line that is torn, as the last one after a kill, is left out.
  explicit StagingRecord(StagedFolder& folder);
  const StagedCopy* find(const std::string& name) const;  // nullptr: nothing is known
  void add(const std::string& name, const StagedCopy& copy);

 private:
  std::map<std::string, StagedCopy> copies_;  // by the hash of the name
  StagedFolder& folder_;
  Descriptor file_;
};

}  // namespace eave
