// What other threads hand to the thread that steps a controller: requests of clients, links that they release, switches whose
// links changed, and the events of OpenSM's plugin. Thread-safe and bounded.
#pragma once

#include <deque>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "fabric/base/guid.h"
#include "services/control/live/status/live_fabric.h"

namespace railweave::control {

class SubnetInbox {
 public:
  struct Asked {
    LiveFabric::Request request;
    LiveFabric::Completion done;
  };
  struct OpensmNews {
    bool is_connected = false;
    bool is_writing = false;   // OpenSM writes forwarding tables, or is about to
    bool has_settled = false;  // since the last take_opensm_news()
    std::string refusal;       // "": none since OpenSM last settled
    bool has_written = false;  // tables of ports as it was told, since the last take_opensm_news()
    bool may_differ = false;   // any tables of ports, since then: it swept, or another OpenSM may be master
    // Whether a plugin hands tables of ports to an OpenSM that programs them; none: it has not said so yet.
    std::optional<bool> takes_ports;
    std::string no_ports;  // why it does not
  };

  // False: too many requests are waiting; `done` is untouched.
  [[nodiscard]] bool ask(LiveFabric::Request request, LiveFabric::Completion& done);
  [[nodiscard]] std::deque<Asked> take_asked();

  // Links whose flaps are to be forgotten, by id.
  void release(const std::string& link);
  [[nodiscard]] std::set<std::string> take_released();

  // An unknown GUID among them: too many to name, sweep.
  void notice(const std::vector<Guid>& switches);
  [[nodiscard]] std::vector<Guid> take_noticed();

  void opensm_connected(Guid instance, bool connected);
  void opensm_writes();
  [[nodiscard]] bool opensm_is_writing() const;
  void opensm_settled();
  void opensm_refused(const std::string& why);
  void opensm_wrote();
  // "": it takes tables of ports, else why not. Of several OpenSMs at most one is master.
  void opensm_takes_ports(Guid instance, const std::string& why_not);
  [[nodiscard]] OpensmNews take_opensm_news();

 private:
  mutable std::mutex mutex_;  // guards all below
  std::deque<Asked> asked_;
  std::vector<Guid> noticed_;
  std::set<std::string> released_;  // of links that flap: no more than there are
  OpensmNews opensm_;
  std::set<Guid> connected_, takers_;  // of OpenSMs, by the ports that they are bound to
};

}  // namespace railweave::control
