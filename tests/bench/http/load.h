// Keep-alive connections driven from one thread: each round sends one request on every connection, then reads every
// answer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace railweave::api {

class Load {
 public:
  Load(std::uint16_t port, std::size_t connections, std::string request);
  ~Load();
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;

  // False when an answer was not a 200 or a connection ended.
  bool round();
  [[nodiscard]] std::size_t received_bytes() const { return received_bytes_; }

 private:
  bool read_answer(int descriptor);

  std::vector<int> descriptors_;
  std::string request_;
  std::vector<char> buffer_;
  std::size_t received_bytes_ = 0;
};

}  // namespace railweave::api
