// Parameters and statistics from a file that another program wrote: a safetensors file with the
// names of Hugging Face (GPT-2) or torchvision (ResNet).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "engine/device/visibility.h"
#include "runtime/checkpoint/file_system.h"
#include "runtime/replica.h"

namespace lockstep::runtime {

// Copies the file's tensors into the replica's memory, on one rank. Names may lack the prefix
// "transformer." that all of the model's have. What frameworks keep beside weights is passed over:
// attention masks ("attn.bias", "attn.masked_bias"), batch counters ("num_batches_tracked"), and a
// head ("lm_head.weight") that equals the token table it is tied to. Numbers may be F32 or BF16.
// Throws CheckpointError that lists every difference, or says that the head differs.
LOCKSTEP_API void load_weights(Replica& replica, checkpoint::FileSystem& files,
                               const std::filesystem::path& path);

}  // namespace lockstep::runtime
