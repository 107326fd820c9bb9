// job_submit_railweave.so: what job_submit.lua does, for clusters whose slurmctld has no Lua. It does no I/O and keeps no state, as it
// runs under slurmctld's locks. slurm.conf: JobSubmitPlugins=railweave, with its folder in PluginDir. The grace period is
// RAILWEAVE_GRACE in slurmctld's environment, in seconds; 120 where it is not set. RAILWEAVE_GPUS_PER_NODE (8) and
// RAILWEAVE_CPUS_PER_NODE (0: not known) are the most that a node has.
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <string_view>
#include <system_error>

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
std::uint64_t gpus_per_node = 8, cpus_per_node = 0;

bool is_set(const char* text) { return text != nullptr && *text != '\0'; }
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

// Of a number that Slurm counts in 16 bits too.
std::uint64_t count(std::uint64_t number) { return number >= NO_VAL16 ? 0 : number; }

// Of "gres:gpu:h100:8", "gres/gpu:8"; a GPU without a number is one.
std::uint64_t gpus(const char* text) {
  std::uint64_t all = 0;
  std::string_view rest = text == nullptr ? "" : text;
  while (!rest.empty()) {
    const std::string_view part = rest.substr(0, rest.find_first_of(",;"));
    rest.remove_prefix(part.size() == rest.size() ? part.size() : part.size() + 1);
    if (!part.contains("gpu")) continue;
    const std::size_t last = part.find_last_of(":=");
    std::uint64_t number = 0;
    if (last != std::string_view::npos) {
      const auto read = std::from_chars(part.data() + last + 1, part.data() + part.size(), number);
      if (read.ec != std::errc() || read.ptr != part.data() + part.size()) number = 0;
    }
    all += number == 0 ? 1 : number;
  }
  return all;
}

// Whether the job will get several nodes, however it says so.
bool needs_nodes(const job_desc_msg_t& job) {
  const std::uint64_t tasks = count(job.num_tasks), per_node = count(job.ntasks_per_node);
  if (count(job.min_nodes) >= 2 || (per_node > 0 && tasks > per_node)) return true;
  const std::uint64_t at_least_one = tasks == 0 ? 1 : tasks;
  if (gpus(job.tres_per_job) > gpus_per_node || gpus(job.tres_per_task) * at_least_one > gpus_per_node) return true;
  const std::uint64_t of_task = count(job.cpus_per_task);
  return cpus_per_node > 0 && tasks * (of_task == 0 ? 1 : of_task) > cpus_per_node;
}

// A part of a heterogeneous job is placed together with the others, of one node or of more.
bool is_part_with_gpus(const job_desc_msg_t& job) {
  return job.het_job_offset != NO_VAL && job.tres_per_node != nullptr &&
         std::strstr(job.tres_per_node, "gpu") != nullptr;
}

bool is_set(std::uint16_t number) { return number != 0 && number < NO_VAL16; }

// What only Slurm can hold its nodes to.
bool is_for_slurm(const job_desc_msg_t& job) {
  const bool has_disk = job.pn_min_tmp_disk != 0 && job.pn_min_tmp_disk != NO_VAL;
  const bool has_switches = job.req_switch != 0 && job.req_switch < NO_VAL16;
  return is_set(job.contiguous) || has_switches || is_set(job.sockets_per_node) || has_disk ||
         (job.bitflags & SPREAD_JOB) != 0;
}

}  // namespace

RAILWEAVE_EXPORT int init(void) {
  if (const char* text = std::getenv("RAILWEAVE_GRACE")) {
    const long seconds = std::strtol(text, nullptr, 10);
    if (seconds > 0) grace_s = seconds;
  }
  if (const char* text = std::getenv("RAILWEAVE_GPUS_PER_NODE")) gpus_per_node = std::strtoul(text, nullptr, 10);
  if (const char* text = std::getenv("RAILWEAVE_CPUS_PER_NODE")) cpus_per_node = std::strtoul(text, nullptr, 10);
  return SLURM_SUCCESS;
}

RAILWEAVE_EXPORT int fini(void) { return SLURM_SUCCESS; }

RAILWEAVE_EXPORT int job_submit(job_desc_msg_t* job, std::uint32_t /*user*/, char** /*error*/) {
  take_options(*job);
  // Who named nodes, or those not to have, a reservation or a time, or holds the job, has decided.
  if (is_set(job->req_nodes) || is_set(job->exc_nodes) || is_set(job->reservation) || is_set(job->begin_time) ||
      job->priority == 0)
    return SLURM_SUCCESS;
  // A time to begin would make these fail; licences and burst buffers are waited for in Slurm.
  if (is_set(job->deadline) || job->immediate == 1 || is_set(job->licenses) || is_set(job->burst_buffer))
    return SLURM_SUCCESS;
  if (is_for_slurm(*job) || (!needs_nodes(*job) && !is_part_with_gpus(*job))) return SLURM_SUCCESS;
  const std::string others = is_set(job->admin_comment) ? std::string(" | ") + job->admin_comment : std::string();
  replace(job->admin_comment, "railweave: waits to be placed, or begins by itself at its StartTime" + others);
  job->begin_time = std::time(nullptr) + grace_s;
  return SLURM_SUCCESS;
}

RAILWEAVE_EXPORT int job_modify(job_desc_msg_t* /*job*/, void* /*record*/, std::uint32_t /*user*/) {
  return SLURM_SUCCESS;
}
