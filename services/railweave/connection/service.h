// The client of railweaved that commands use: JSON in, JSON out. Every failure throws CommandFailure: no connection, a
// problem document (RFC 9457), an answer that is not JSON. Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "api/client/client.h"
#include "services/railweave/connection/credentials.h"
#include "services/railweave/connection/target.h"
#include "services/railweave/terminal/json.h"

namespace railweave::cli {

inline constexpr const char* kEventsGone = "events.gone";  // of failures: events before were removed

struct Answer {
  int status = 0;
  api::Headers headers;
  Json body;  // null where the answer has none
};

// A resource that is about to be changed.
struct Resource {
  Json body;         // null: it does not exist yet
  std::string etag;  // If-Match of the change; "" where the service sends none
};

class Service {
 public:
  // Shows what the login has with every request, and trusts what it says.
  Service(api::Url url, std::chrono::milliseconds timeout, const Login& login);

  Json get(const Target& target);
  std::string get_text(const Target& target);  // the body unparsed
  Resource read(const Target& target);
  // With an etag the service refuses the change if the resource was changed since it was read.
  Json put(const Target& target, const Json& body, const std::string& etag = {});
  Json post(const Target& target, const Json& body);
  void remove(const Target& target);
  // The general form. Answers of status 400 and more are returned too where `accept` says so.
  Answer send(api::ClientRequest request, const std::function<bool(int status)>& accept = {});

  // Fetches a list page by page, at most `limit` items (0: all). When the list changes under the cursor, it is fetched
  // again from the start, and `restart` must discard the items so far.
  struct ListEnd {
    Json next_cursor;  // of the last page; null: there is no next one
    std::uint64_t seq = 0;
    Json beside;  // what the last page has beside its items
  };
  ListEnd each_item(const Target& target, std::uint64_t limit, const std::function<void(const Json&)>& on_item,
                    const std::function<void()>& restart);

  // Server-sent events until `on_event` returns false. A broken stream is resumed, up to 10 times in a row.
  void follow(const Target& target, const std::string& after, const std::function<bool(const Json&)>& on_event,
              const std::function<void(const std::string&)>& on_trouble);

  // Called with a line about each answer, which has the request's id: the service's log and its audit trail name it.
  void tell(std::function<void(const std::string&)> answered) { answered_ = std::move(answered); }

  [[nodiscard]] std::string url() const { return client_.url().text(); }
  // Whether a request that changes something was answered well.
  [[nodiscard]] bool has_changed() const { return changed_; }

 private:
  void note(const api::ClientRequest& request, const api::ClientResponse& response) const;
  Json parse(const api::ClientResponse& response, const std::string& target) const;

  api::Client client_;
  bool changed_ = false;
  std::function<void(const std::string&)> answered_;  // may be unset
};

// A request with a JSON body, for Service::send().
api::ClientRequest json_request(api::Method method, const Target& target, const Json& body);

// The error that a problem document reports, or a general one for other bodies of that status.
Error problem_error(int status, const std::string& body, const std::string& server);

}  // namespace railweave::cli
