// A job's AdminComment, which Railweave shares with other tools: "railweave: ... | what others wrote". Slurm has no field of a job
// that is one tool's own, so what others write there is kept, and what they write over is written again.
#pragma once

#include <string>
#include <string_view>

namespace railweave::slurm {

inline constexpr std::string_view kMarkWord = "railweave: ";

struct AdminComment {
  std::string_view mark;  // begins with "railweave:"; "": Railweave has none
  std::string others;     // joined by " | "
};

// The mark may be in any of its parts: tools add before and after it.
AdminComment split_admin_comment(std::string_view text);
std::string join_admin_comment(std::string_view mark, std::string_view others);

}  // namespace railweave::slurm
