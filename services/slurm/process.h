// Runs a program and waits for its end. Its arguments go to it as they are: no shell reads them.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "fabric/base/error.h"

namespace railweave::slurm {

// What it printed on stdout. input: what it reads, at most kMaxInput bytes. Errors: it could not be started, did not end in
// time (it is killed), printed more than `most_bytes`, or failed; then the message is what it printed on stderr.
inline constexpr std::size_t kMaxInput = 60'000;  // a pipe holds that
Result<std::string> run_process(const std::vector<std::string>& arguments, std::chrono::milliseconds timeout,
                                std::size_t most_bytes, const std::string& input = {});

}  // namespace railweave::slurm
