// Writes files of tokens as nanoGPT and llm.c do.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "test/data/data_files.h"

namespace eave {

// Little-endian numbers of `bytes_per_token`.
Bytes token_bytes(const std::vector<std::int32_t>& tokens, int bytes_per_token = 2);

// llm.c's header of 256 numbers.
Bytes llmc_header(std::uint32_t magic, std::uint32_t version, std::uint32_t tokens);

// `count` tokens that follow no pattern, from `first` on, each below `vocabulary`.
std::vector<std::int32_t> some_tokens(int count, int first = 0, int vocabulary = 50257);

// train.bin and val.bin in llm.c's format.
void write_token_folder(const std::filesystem::path& folder);

}  // namespace eave
