// A plain blocking socket to a server under test, and an answer parser of its own: shares no code with the server.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace railweave::api {

struct RawAnswer {
  int status = 0;
  std::map<std::string, std::string> headers;  // names in lower case
  std::string head;
  std::string body;  // with the chunks put together
  bool complete = false;
};

// Of an answer that is a problem.
inline std::string code_of(const RawAnswer& answer) { return nlohmann::json::parse(answer.body)["code"]; }

class RawSocket {
 public:
  using Milliseconds = std::chrono::milliseconds;

  // When no server listens, it is as if the connection had ended at once. 0: the system's own receive buffer.
  explicit RawSocket(std::uint16_t port, int receive_buffer_bytes = 0);
  ~RawSocket();
  RawSocket(const RawSocket&) = delete;
  RawSocket& operator=(const RawSocket&) = delete;

  // False when the other side has closed.
  bool send(std::string_view bytes);
  void end_sending();
  void close();

  // The next answer in order; `of_head` when it answers HEAD, and so has no body.
  RawAnswer read_answer(bool of_head = false, Milliseconds timeout = Milliseconds(30'000));
  // Everything up to and with `marker`; what came instead when the connection ends or the time is over.
  std::string read_until(std::string_view marker, Milliseconds timeout = Milliseconds(30'000));
  // Everything until the other side closes.
  std::string read_all(Milliseconds timeout = Milliseconds(30'000));
  // Nothing but the end of the connection comes within the time.
  bool ends(Milliseconds timeout = Milliseconds(30'000));

 private:
  bool fill(std::chrono::steady_clock::time_point deadline);
  bool fill_to(std::size_t size, std::chrono::steady_clock::time_point deadline);
  std::optional<std::string> take_line(std::chrono::steady_clock::time_point deadline);

  int descriptor_ = -1;
  std::string buffer_;
  bool ended_ = false;
};

}  // namespace railweave::api
