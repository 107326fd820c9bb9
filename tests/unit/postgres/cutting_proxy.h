// Stands between the journal and its server and cuts connections at chosen bytes, as a network does: before the server has a
// request, or after it, so that only the answer is lost.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace railweave::db {

class CuttingProxy {
 public:
  explicit CuttingProxy(const std::string& server_url);
  CuttingProxy(const CuttingProxy&) = delete;
  CuttingProxy& operator=(const CuttingProxy&) = delete;
  ~CuttingProxy();

  [[nodiscard]] const std::string& url() const;
  // All connections are cut when the next `bytes` of requests have passed; with `answers`, when that many bytes of answers
  // have, counted from now. New connections pass.
  void cut_after(std::size_t bytes, bool answers);
  // All connections are cut now.
  void cut();
  // Nothing passes, and nothing is cut.
  void stall();
  // Everything passes. Returns 1 if a cut was made since the last call.
  int pass();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace railweave::db
