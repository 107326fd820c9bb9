// railweaved, as the commands ask it: JSON in, JSON out. Throws CommandFailure for every answer that is none: no
// connection, a problem document (RFC 9457), something that is not JSON. Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "api/client/client.h"
#include "services/railweave/connection/target.h"
#include "services/railweave/terminal/json.h"

namespace railweave::cli {

struct Answer {
  int status = 0;
  api::Headers headers;
  Json body;  // null where the answer has none
};

class Service {
 public:
  Service(api::Url url, std::chrono::milliseconds timeout);

  Json get(const Target& target);
  std::string get_text(const Target& target);  // the body as it is
  // Answers of status 400 and more are returned too where `accept` says so.
  Answer send(api::ClientRequest request, const std::function<bool(int status)>& accept = {});

  // Every item of a list, page by page; `limit` 0: all of them. When the list changes under the cursor it is begun
  // again: `restart` must forget what it got. What the last page said besides its items is the result.
  struct ListEnd {
    Json next_cursor;  // null: nothing more
    std::uint64_t seq = 0;
  };
  ListEnd each_item(const Target& target, std::uint64_t limit, const std::function<void(const Json&)>& on_item,
                    const std::function<void()>& restart);

  // Server-sent events of JSON until `on_event` returns false; reconnects, for a while.
  void follow(const Target& target, const std::string& after, const std::function<bool(const Json&)>& on_event,
              const std::function<void(const std::string&)>& on_trouble);

  [[nodiscard]] std::string url() const { return client_.url().text(); }

 private:
  Json parse(const api::ClientResponse& response, const std::string& target) const;

  api::Client client_;
};

// What a problem document says, or an answer of that status that is none.
Error problem_error(int status, const std::string& body, const std::string& server);

}  // namespace railweave::cli
