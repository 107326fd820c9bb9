#include "services/rest/handlers/live/live_work.h"

#include <optional>
#include <utility>

#include "services/rest/handlers/fabric/topology_import.h"
#include "services/rest/handlers/reply.h"
#include "services/rest/json/fabric/fabric.h"

namespace railweave::api {
namespace {

using control::LiveFabric;
using control::SubnetStatusPtr;

// Collects the answers of several subnets.
struct Answers {
  std::mutex mutex;
  std::vector<SubnetStatusPtr> statuses;  // guarded by mutex
  std::optional<Error> first_error;       // guarded by mutex
  std::size_t missing = 0;                // guarded by mutex
};

}  // namespace

LiveWork::LiveWork(const ControlPlane& plane, Operations& operations) : plane_(plane), operations_(operations) {
  worker_.start([this](Worker::Turn& turn) { run(turn); });
}

std::string LiveWork::sync(const std::vector<std::string>& subnets) {
  const std::string operation = operations_.begin("fabric.sync");
  const std::size_t total = subnets.size();
  operations_.progress(operation, 0, total, "subnets");
  const auto answers = std::make_shared<Answers>();
  answers->missing = total;
  for (const auto& subnet : subnets) {
    plane_.live.ask(
        subnet, LiveFabric::Request::sync,
        [weak = weak_from_this(), operation, answers, subnet, total](const Result<SubnetStatusPtr>& result) {
          const auto self = weak.lock();
          if (!self) return;
          const std::lock_guard lock(answers->mutex);
          if (result) {
            answers->statuses.push_back(*result);
          } else if (!answers->first_error) {
            answers->first_error = result.error();
            answers->first_error->message = "subnet " + subnet + ": " + result.error().message;
          }
          self->operations_.progress(operation, total - --answers->missing, total, "subnets");
          if (answers->missing > 0) return;
          if (answers->first_error) return self->operations_.fail(operation, *answers->first_error);
          self->operations_.succeed(operation, write_sync(*self->plane_.loop.state(), answers->statuses));
        });
  }
  return operation;
}

std::string LiveWork::discover(DiscoverRequest request, std::string actor, control::RequestOrigin origin) {
  Acceptance found{operations_.begin("fabric.discover"), std::move(actor), std::move(origin), std::move(request),
                   nullptr};
  const std::string operation = found.operation;
  const std::string subnet = found.request.subnet;
  operations_.progress(operation, 0, found.request.accept ? 2 : 1, "steps");
  plane_.live.ask(subnet, LiveFabric::Request::discover,
                  [weak = weak_from_this(), found = std::move(found)](const Result<SubnetStatusPtr>& result) mutable {
                    const auto self = weak.lock();
                    if (!self) return;
                    if (!result) return self->operations_.fail(found.operation, result.error());
                    found.status = *result;
                    self->discovered(std::move(found));
                  });
  return operation;
}

void LiveWork::discovered(Acceptance found) {
  if (!found.request.accept) {
    return operations_.succeed(found.operation, write_discovery(*plane_.loop.state(), *found.status, {}));
  }
  operations_.progress(found.operation, 1, 2, "steps");
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.size() < kMaxWaiting) {
      waiting_.push_back(std::move(found));
      worker_.wake();
      return;
    }
  }
  operations_.fail(found.operation, too_busy());
}

void LiveWork::accept(const Acceptance& found) {
  if (found.status->discovered == nullptr) {
    return operations_.fail(found.operation,
                            {ErrorKind::unavailable,
                             "subnets.notDiscovered",
                             "subnet " + found.request.subnet + " was not discovered: " + found.status->problem,
                             {},
                             {}});
  }
  const auto state = plane_.loop.state();
  auto imported = import_discovered({.found = found.status->discovered,
                                     .subnet = found.request.subnet,
                                     .gpus_per_node = found.request.gpus_per_node,
                                     .nvlink_domain_gpus = found.request.nvlink_domain},
                                    state->topology());
  if (!imported) return operations_.fail(found.operation, imported.error());
  control::AcceptTopology command{std::move(imported->topology),
                                  std::move(imported->document),
                                  std::move(imported->digest),
                                  "discovery of subnet " + found.request.subnet +
                                      (found.status->port.empty() ? std::string() : " through " + found.status->port),
                                  found.request.force,
                                  state->accepted.version};
  const bool queued = plane_.loop.submit(
      {found.actor, std::move(command), found.origin}, [weak = weak_from_this(), operation = found.operation,
                                                        status = found.status](const control::CommandResult& result) {
        const auto self = weak.lock();
        if (!self) return;
        if (!result) return self->operations_.fail(operation, result.error().error);
        self->operations_.progress(operation, 2, 2, "steps");
        self->operations_.succeed(operation, write_discovery(*result->state, *status, write_fabric(*result->state)));
      });
  if (!queued) operations_.fail(found.operation, too_busy());
}

void LiveWork::run(Worker::Turn& turn) {
  while (!turn.is_to_end()) {
    std::optional<Acceptance> next;
    {
      const std::lock_guard lock(mutex_);
      if (!waiting_.empty()) {
        next = std::move(waiting_.front());
        waiting_.pop_front();
      }
    }
    if (next) {
      accept(*next);
    } else {
      turn.rest();
    }
  }
}

}  // namespace railweave::api
