// Tasks that wait for threads, which clients share fairly by time (start-time fair queueing, Goyal, Vin and Cheng, 1996): next is
// the client with the fewest threads, of those the one that has used least. So one that asks for little is never behind all that
// others have asked for, however many they are. Not thread-safe: its owner guards it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace railweave::api {

class FairLane {
 public:
  using Task = std::move_only_function<void()>;
  using Duration = std::chrono::nanoseconds;
  using TimePoint = std::chrono::steady_clock::time_point;
  struct Spent {
    Duration used;
    TimePoint at;  // when it was over
  };
  struct Taken {
    Task task;
    std::string client;
    // What it holds is gone after that.
    Spent run();
  };

  void push(const std::string& client, Task task);
  [[nodiscard]] bool empty() const { return waiting_ == 0; }
  [[nodiscard]] std::size_t waiting() const { return waiting_; }
  [[nodiscard]] std::size_t waiting_of(const std::string& client) const;
  // Whether one waits that is light: none of its tasks runs, and it has used little lately.
  [[nodiscard]] bool has_light(TimePoint now) const;

  // Whose turn it is; not of an empty lane.
  [[nodiscard]] Taken take();
  // Of the light ones; there must be one.
  [[nodiscard]] Taken take_light(TimePoint now);
  // After each task that was taken.
  void ran(const std::string& client, const Spent& spent);
  [[nodiscard]] std::vector<Task> drop_all();

 private:
  struct Client {
    std::deque<Task> waiting;
    std::size_t running = 0;
    Duration used{0};        // one that comes begins where the lane is
    std::uint64_t turn = 0;  // when it was served last
  };
  using Clients = std::map<std::string, Client>;
  // What a client has used, less what it may use for ever.
  struct Recent {
    Duration used{0};
    TimePoint at;
  };

  [[nodiscard]] Duration recent(const std::string& client, TimePoint now) const;
  [[nodiscard]] bool is_light(const Clients::value_type& entry, TimePoint now) const;
  Taken serve(Clients::iterator next);
  void note(const std::string& client, Duration used, TimePoint now);

  Clients clients_;  // that want something, or have used more than others
  std::size_t waiting_ = 0, running_ = 0;
  Duration now_{0};  // what the client served last had used
  std::uint64_t turns_ = 0;
  std::map<std::string, Recent> recent_;
  std::size_t sweep_at_ = 0;
};

}  // namespace railweave::api
