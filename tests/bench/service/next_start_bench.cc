// From the report that a job has completed to the next start of a waiting one, over HTTP on loopback: a full fabric of
// 102,400 GPUs, and as many jobs waiting as asked for. One client reports completions, another listens to events.
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <iterator>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

#include "tests/bench/placement/churn.h"
#include "tests/bench/service/large_fabric.h"
#include "tests/bench/service/running_service.h"

namespace railweave {
namespace {

using Clock = std::chrono::steady_clock;

// The text after `mark`, up to a quote.
std::string quoted_after(std::string_view text, std::string_view mark) {
  const std::size_t at = text.find(mark);
  if (at == std::string_view::npos) return "";
  text.remove_prefix(at + mark.size());
  return std::string(text.substr(0, text.find('"')));
}

struct Seen {
  bool starts = false;  // else it ends
  std::string job;
  Clock::time_point at;
};

// Starts and ends of jobs in their order, and when it is told of them. The service must end before this does.
class Listener {
 public:
  explicit Listener(const RunningService& service)
      : thread_([this, client = service.client()]() mutable {
          (void)client.stream(
              "/v1/events/stream?type=job.placed&type=job.ended", [this](const api::ServerEvent& event) {
                const std::scoped_lock lock(mutex_);
                seen_.push_back(
                    {event.type == "job.placed", quoted_after(event.data, R"("kind":"job","id":")"), Clock::now()});
                changed_.notify_all();
                return true;
              });
        }) {}
  ~Listener() { thread_.join(); }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  // The first start after the end of this job; none within the time.
  std::optional<Clock::time_point> start_after(const std::string& ended, std::chrono::milliseconds time) {
    std::unique_lock lock(mutex_);
    std::optional<Clock::time_point> at;
    changed_.wait_for(lock, time, [&] {
      const auto end = std::ranges::find_if(seen_, [&](const Seen& one) { return !one.starts && one.job == ended; });
      const auto start = std::find_if(end, seen_.end(), [](const Seen& one) { return one.starts; });
      if (start != seen_.end()) at = start->at;
      return at.has_value();
    });
    return at;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Seen> seen_;
  std::thread thread_;
};

class Cluster {
 public:
  Cluster(std::uint64_t waiting, const std::string& rules) : mix_(kGpus) {
    service_.start();
    client_.emplace(service_.client());
    ask("PUT", "/v1/fabric/topology", large_fabric());
    for (int i = 0; i < kTenants; ++i) ask("PUT", "/v1/tenants/tenant-" + std::to_string(i), "{}");
    ask("PUT", "/v1/queue/policy",
        R"({"priorityClasses":[{"name":"low","value":-1,"preemptible":true},{"name":"normal","preemptible":true},)" +
            rules);
    fill();
    for (std::uint64_t sent = 0; sent < waiting;) {
      std::string items;
      for (int i = 0; i < 500 && sent < waiting; ++i, ++sent) {
        items += (items.empty() ? "" : ",") + submission(R"(,"queue":true,"key":")" + std::to_string(sent) + '"', 3);
      }
      ask("POST", "/v1/jobs/batch", R"({"items":[)" + items + "]}");
    }
    listener_.emplace(service_);
    std::this_thread::sleep_for(std::chrono::seconds(2));  // until the queue is at rest
  }
  ~Cluster() { service_.end(SIGKILL); }
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  // Reports that some job has completed.
  std::pair<std::string, Clock::time_point> complete_one() {
    std::swap(running_[random_() % running_.size()], running_.back());
    const std::string job = std::move(running_.back());
    running_.pop_back();
    const auto from = Clock::now();
    ask("POST", "/v1/jobs/" + job + "/complete", "{}");
    return {job, from};
  }
  Listener& listener() { return *listener_; }

 private:
  static constexpr std::uint64_t kGpus = 102'400;
  static constexpr int kTenants = 50;

  std::string ask(std::string_view method, const std::string& target, std::string body) {
    return service_.must(method == "PUT" ? client_->put(target, std::move(body))
                                         : client_->post(target, std::move(body)));
  }
  std::string submission(const std::string& more, std::uint64_t classes) {
    const char* names[] = {"low", "normal", "high"};
    const auto spec = scheduler::bench::bench_job(mix_.next(random_)).parallelism;
    return R"({"name":"bench","tenant":"tenant-)" + std::to_string(random_() % kTenants) + R"(","priority":")" +
           names[random_() % classes] + R"(","expectedDuration":"PT)" + std::to_string(600 + random_() % 360'000) +
           R"(S","parallelism":{"tensor":)" + std::to_string(spec.tensor) + R"(,"pipeline":)" +
           std::to_string(spec.pipeline) + R"(,"data":)" + std::to_string(spec.data) + "}" + more + "}";
  }
  void fill() {
    for (int misses = 0; misses < 20;) {
      const auto answer = client_->post("/v1/jobs", submission("", 2));
      if (answer && answer->ok()) {
        running_.push_back(quoted_after(answer->body, R"("id":")"));
      } else {
        ++misses;
      }
    }
  }

  RunningService service_;
  std::optional<api::Client> client_;
  std::mt19937_64 random_{1};
  scheduler::bench::JobMix mix_;
  std::vector<std::string> running_;
  std::optional<Listener> listener_;
};

enum Rules : std::uint8_t { easy, preempting, conservative };
const char* const kRules[] = {
    R"({"name":"high","value":1}]})",
    R"({"name":"high","value":1,"mayPreempt":true}]})",
    R"({"name":"high","value":1}],"backfill":"conservative"})",
};

// One completion after the other, each once the last has led to a start or to none within a second; or one in that number of
// milliseconds on average, whatever they lead to.
void next_start(benchmark::State& state) {
  constexpr std::size_t kCompletions = 200;
  constexpr std::chrono::milliseconds kMaxWait(1'000);
  Cluster cluster(static_cast<std::uint64_t>(state.range(0)), kRules[state.range(2)]);
  std::vector<double> ms;
  std::mt19937_64 random(2);
  for (auto _ : state) {
    std::vector<std::pair<std::string, Clock::time_point>> completed;
    const auto count = [&](const auto& one) {
      const auto start = cluster.listener().start_after(one.first, kMaxWait);
      if (start) ms.push_back(std::chrono::duration<double, std::milli>(*start - one.second).count());
    };
    for (std::size_t i = 0; i < kCompletions; ++i) {
      completed.push_back(cluster.complete_one());
      if (state.range(1) == 0) {
        count(completed.back());
      } else {
        std::exponential_distribution<double> pause(1.0 / static_cast<double>(state.range(1)));
        std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(pause(random)));
      }
    }
    if (state.range(1) != 0) std::ranges::for_each(completed, count);
  }
  std::ranges::sort(ms);
  const auto at = [&](std::size_t percent) {
    return ms.empty() ? 0 : ms[std::min(ms.size() - 1, ms.size() * percent / 100)];
  };
  state.counters["p50_ms"] = at(50);
  state.counters["p95_ms"] = at(95);
  state.counters["longest_ms"] = at(100);
  state.counters["started"] = static_cast<double>(ms.size());
}
BENCHMARK(next_start)
    ->ArgNames({"waiting", "every_ms", "rules"})
    ->ArgsProduct({{1'000, 10'000}, {0, 100}, {easy}})
    ->ArgsProduct({{10'000}, {0}, {preempting, conservative}})
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1)
    ->UseRealTime();

}  // namespace
}  // namespace railweave
