// A listening socket that answers each connection, one after the other, as its script says: for what no honest server
// does.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace railweave::api {

class ScriptedServer {
 public:
  class Peer {
   public:
    explicit Peer(int descriptor) : descriptor_(descriptor) {}
    // The next request's head (and what came with it); "" when the client closed.
    std::string read_head() const;
    void send(std::string_view bytes) const;

   private:
    int descriptor_;
  };
  using Script = std::function<void(const Peer&)>;

  // One script per connection; the connection is closed when it returns.
  explicit ScriptedServer(std::vector<Script> scripts);
  ~ScriptedServer();
  ScriptedServer(const ScriptedServer&) = delete;
  ScriptedServer& operator=(const ScriptedServer&) = delete;

  [[nodiscard]] std::uint16_t port() const { return port_; }

 private:
  int descriptor_ = -1;
  std::uint16_t port_ = 0;
  std::thread thread_;
};

}  // namespace railweave::api
