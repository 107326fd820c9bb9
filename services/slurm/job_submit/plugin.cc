// job_submit_railweave.so: what job_submit.lua does, for clusters whose slurmctld has no Lua. It does no I/O and keeps no state, as it
// runs under slurmctld's locks. slurm.conf: JobSubmitPlugins=railweave, with its folder in PluginDir. The grace period is
// RAILWEAVE_GRACE in slurmctld's environment, in seconds; 120 where it is not set.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <string_view>

extern "C" {
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>

// slurmctld frees texts by its own allocator, which the headers do not declare.
char* slurm_xstrdup(const char* text);
void slurm_xfree(void** item);
}

#define RAILWEAVE_EXPORT extern "C" __attribute__((visibility("default")))

RAILWEAVE_EXPORT const char plugin_name[] = "Railweave's mark on jobs";
RAILWEAVE_EXPORT const char plugin_type[] = "job_submit/railweave";
RAILWEAVE_EXPORT const uint32_t plugin_version = SLURM_VERSION_NUMBER;

namespace {

constexpr std::string_view kVariable = "RAILWEAVE=";
std::time_t grace_s = 120;

bool is_set(const char* text) { return text != nullptr && *text != '\0'; }
bool is_set(std::uint32_t number) { return number != NO_VAL && number != 0; }
bool is_set(std::time_t time) { return time != 0 && static_cast<std::uint64_t>(time) != NO_VAL; }

void replace(char*& text, const std::string& by) {
  if (text != nullptr)
    slurm_xfree(reinterpret_cast<void**>(&text));  // NOLINT(cppcoreguidelines-pro-type-reinterpret-cast)
  text = slurm_xstrdup(by.c_str());
}

// The words before the first character that no option of the SPANK plugin has.
std::string_view plain_part(std::string_view words) {
  std::size_t end = 0;
  const auto is_plain = [](char c) {
    return c == '=' || c == '%' || c == '.' || c == ' ' || c == '_' || c == '-' || (c >= '0' && c <= '9') ||
           (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  while (end < words.size() && is_plain(words[end])) ++end;
  return words.substr(0, end);
}

// What the SPANK plugin's options say reaches slurmctld with the environment of prologs.
void take_options(job_desc_msg_t& job) {
  for (std::uint32_t i = 0; job.spank_job_env != nullptr && i < job.spank_job_env_size; ++i) {
    const std::string_view variable = job.spank_job_env[i] == nullptr ? "" : job.spank_job_env[i];
    const std::size_t at = variable.find(kVariable);
    if (at == std::string_view::npos) continue;
    const std::string_view words = plain_part(variable.substr(at + kVariable.size()));
    if (words.empty()) continue;
    std::string comment = job.comment == nullptr ? "" : job.comment;
    if (!comment.contains("railweave:")) comment += comment.empty() ? "railweave:" : " railweave:";
    replace(job.comment, comment + " " + std::string(words));
  }
}

// A part of a heterogeneous job is placed together with the others, of one node or of more.
bool is_part_with_gpus(const job_desc_msg_t& job) {
  return job.het_job_offset != NO_VAL && job.tres_per_node != nullptr &&
         std::strstr(job.tres_per_node, "gpu") != nullptr;
}

}  // namespace

RAILWEAVE_EXPORT int init(void) {
  if (const char* text = std::getenv("RAILWEAVE_GRACE")) {
    const long seconds = std::strtol(text, nullptr, 10);
    if (seconds > 0) grace_s = seconds;
  }
  return SLURM_SUCCESS;
}

RAILWEAVE_EXPORT int fini(void) { return SLURM_SUCCESS; }

RAILWEAVE_EXPORT int job_submit(job_desc_msg_t* job, std::uint32_t /*user*/, char** /*error*/) {
  take_options(*job);
  // Who named nodes, or those not to have, a reservation or a time, or holds the job, has decided.
  if (is_set(job->req_nodes) || is_set(job->exc_nodes) || is_set(job->reservation) || is_set(job->begin_time) ||
      job->priority == 0)
    return SLURM_SUCCESS;
  if ((!is_set(job->min_nodes) || job->min_nodes < 2) && !is_part_with_gpus(*job)) return SLURM_SUCCESS;
  replace(job->admin_comment, "railweave: waits to be placed");
  job->begin_time = std::time(nullptr) + grace_s;
  return SLURM_SUCCESS;
}

RAILWEAVE_EXPORT int job_modify(job_desc_msg_t* /*job*/, void* /*record*/, std::uint32_t /*user*/) {
  return SLURM_SUCCESS;
}
