#include "services/railweave/connection/rest_words.h"

#include <array>
#include <regex>
#include <string_view>
#include <utility>

namespace railweave::cli {
namespace {

struct Words {
  const char* call;
  const char* command;
};

// The first that matches counts, so particular ones stand first.
constexpr std::array kWords{
    Words{R"(send Authorization: Bearer with a token; administrators issue them)",
          "railweave login; administrators issue tokens, the first is in the file that railweaved names at its start"},
    Words{R"(DELETE /v1/tokens/(\S+))", "railweave tokens revoke $1"},
    Words{R"(POST /v1/placements/query)", "railweave place"},
    Words{R"(PUT /v1/fabric/topology)", "railweave fabric import"},
    Words{R"(POST /v1/fabric/accept)", "railweave fabric discover --accept"},
    Words{R"(POST /v1/jobs/([^\s/]+)/([a-z]+))", "railweave jobs $2 $1"},
    Words{R"(POST /v1/jobs/batch)", "railweave jobs submit"},
    Words{R"(PATCH /v1/jobs/(\S+))", "railweave jobs change $1"},
    Words{R"(POST /v1/jobs)", "railweave jobs submit"},
    Words{R"(DELETE /v1/jobs/(\S+))", "railweave jobs cancel $1"},
    Words{R"(GET /v1/queue/policy)", "railweave queue policy"},
    Words{R"((PUT|PATCH) /v1/queue/policy)", "railweave queue configure"},
    Words{R"(GET /v1/queue)", "railweave queue show"},
    Words{R"(GET /v1/qos-classes)", "railweave qos classes"},
    Words{R"(PUT /v1/qos-classes)", "railweave qos set"},
    Words{R"(GET /v1/(alarms|drains|events|status))", "railweave $1"},
    Words{R"(PUT /v1/tenants/(\S+) with a larger maxGpus)", "railweave tenants set $1 --max-gpus N"},
    Words{R"(GET /v1/subnets/(\S+)/changes)", "railweave subnets changes $1"},
    Words{R"((PUT|PATCH) /v1/([a-z-]+)/(\S+))", "railweave $2 set $3"},
    Words{R"(DELETE /v1/([a-z-]+)/(\S+))", "railweave $1 remove $2"},
    Words{R"(POST /v1/([a-z-]+)/(\S+)/([a-z]+))", "railweave $1 $3 $2"},
    Words{R"(GET /v1/([a-z-]+)/([^\s/]+)(?![\w/]))", "railweave $1 show $2"},
    Words{R"(GET /v1/([a-z-]+)(?![\w/]))", "railweave $1 list"},
    Words{R"(\?freed=true)", " --freed"},
    Words{R"(\bdryRun=true)", "--dry-run"},
    Words{R"(\bforce=true|"force": ?true)", "--force"},
    Words{R"( \(REST: [^)]*\))", ""},
    Words{R"(in 'nodes' or 'gpus')", "with --node or --gpu"},
    Words{R"(name its format if it is one of these)", "name it with --format if it is one of these"},
};

constexpr std::array<std::pair<std::string_view, std::string_view>, 33> kOptions{{
    {"/parallelism/tensor", "--tp"},
    {"/parallelism/pipeline", "--pp"},
    {"/parallelism/data", "--dp"},
    {"/parallelism/context", "--cp"},
    {"/parallelism/expert", "--ep"},
    {"/gpus", "--gpus"},
    {"/gpusPerNode", "--gpus-per-node"},
    {"/tenant", "--tenant"},
    {"/name", "--name"},
    {"/priority", "--priority"},
    {"/expectedDuration", "--duration"},
    {"/minRuntime", "--min-runtime"},
    {"/nodeSelector", "--select"},
    {"/tolerations", "--tolerate"},
    {"/sparesPerDomain", "--spares-per-domain"},
    {"/cpuRoles", "--cpu-role"},
    {"/topology/spread", "--spread-job"},
    {"/topology/slices", "--slice"},
    {"/topology/exclusive", "--exclusive"},
    {"/reason", "--reason"},
    {"/from", "--from"},
    {"/to", "--to"},
    {"/backfill", "--backfill"},
    {"/maxGpus", "--max-gpus"},
    {"/quotaGpus", "--quota"},
    {"/borrowGpus", "--borrow"},
    {"/cohort", "--cohort"},
    {"/weight", "--weight"},
    {"/repair", "--repair"},
    {"/maxPriority", "--max-priority"},
    {"/notBefore", "--not-before"},
    {"/url", "--url"},
    {"/expiresAt", "--expires"},
}};

}  // namespace

std::string in_options(const std::string& pointer) {
  for (const auto& [field, option] : kOptions) {
    if (pointer == field) return std::string(option);
  }
  return pointer;
}

std::string in_commands(std::string text) {
  for (const auto& [call, command] : kWords) text = std::regex_replace(text, std::regex(call), command);
  return text;
}

}  // namespace railweave::cli
