// Cloud providers: how their machines are recognised, and which variables are theirs to manage.
//
// Thread rule: pure functions. Sources: aws-ofi-nccl (platform-aws.cpp), Google's
// nccl-env-profile.sh for A3 Mega, oci-hpc (playbooks/roles/nccl-conf), azhpc-images.
#pragma once

#include <string>
#include <string_view>

#include "topology/machine.h"

namespace lockstep::topology {

// What System says, or else what its product's name does: "Amazon EC2 p5.48xlarge", "Google Compute
// Engine", "Microsoft Corporation Virtual Machine", "OracleCloud.com BM.GPU.H100.8"; or else its
// settings (topology/provider_marks.h).
[[nodiscard]] Provider provider_of(const System& system);

// "AWS", "Azure", "Google Cloud", "OCI"; empty for none.
[[nodiscard]] std::string_view to_string(Provider provider);

// Who manages that variable on machines of the provider, as a sentence's end ("aws-ofi-nccl sets
// it by instance type"); empty where nobody does, and advice may.
[[nodiscard]] std::string_view manager_of(Provider provider, std::string_view variable);

// The providers that manage it on their machines: "OCI", "AWS or Google Cloud"; empty: none.
[[nodiscard]] std::string managers_of(std::string_view variable);

// Who sets the variable to such a value on machines of the provider, without insisting on it, as a
// sentence's end; empty where nobody does. Advice may say otherwise.
[[nodiscard]] std::string_view publisher_of(Provider provider, const Setting& setting);

}  // namespace lockstep::topology
