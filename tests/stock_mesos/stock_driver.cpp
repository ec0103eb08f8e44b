// Runs the stock Apache Mesos 1.11.0 scheduler driver (libprocess) as a framework and says on standard output what it
// was called back for. Arguments: the extension module, the master's host:port, a FrameworkInfo as hexadecimal digits.
// Like stock_master.cpp, which see, it compiles nothing of Mesos: entry points are looked up by symbol name.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

void* module = nullptr;

template <typename Function>
Function* entry(const char* symbol) {
  void* address = dlsym(module, symbol);
  if (address == nullptr) {
    fprintf(stderr, "the module lacks %s\n", symbol);
    exit(2);
  }
  return reinterpret_cast<Function*>(address);
}

struct OptionalString {
  int state;
  std::string value;
};

void say(const char* what) {
  printf("%s\n", what);
  fflush(stdout);
}

// The driver's callback table, in its order: a destructor and ten callbacks. All pass the driver first.
struct Callbacks {
  virtual ~Callbacks() {}
  virtual void registered() { say("registered"); }
  virtual void reregistered() { say("reregistered"); }
  virtual void disconnected() { say("disconnected"); }
  virtual void offers() { say("offers"); }
  virtual void rescinded() { say("rescinded"); }
  virtual void update() { say("update"); }
  virtual void message() { say("message"); }
  virtual void agent_lost() { say("agent lost"); }
  virtual void executor_lost() { say("executor lost"); }
  virtual void error(void*, const std::string& text) { say(("error: " + text).c_str()); }
};

std::string from_hexadecimal(const std::string& digits) {
  std::string bytes;
  for (size_t i = 0; i + 1 < digits.size(); i += 2) bytes += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
  return bytes;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    fprintf(stderr, "usage: stock_driver PATH-OF-_scheduler.so HOST:PORT FRAMEWORK-INFO\n");
    return 2;
  }
  module = dlopen(argv[1], RTLD_LAZY | RTLD_GLOBAL);
  if (module == nullptr) {
    fprintf(stderr, "%s\n", dlerror());
    return 2;
  }
  const OptionalString none{1, ""};
  entry<bool(const OptionalString&, const OptionalString&, const OptionalString&)>(
      "_ZN7process10initializeERK6OptionINSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEES9_S9_")(none, none, none);

  alignas(16) static char framework[1 << 16], driver[1 << 16];
  const std::string info = from_hexadecimal(argv[3]), master = argv[2];
  entry<void(void*)>("_ZN5mesos13FrameworkInfoC1Ev")(framework);
  if (!entry<bool(void*, const void*, int)>("_ZN6google8protobuf11MessageLite14ParseFromArrayEPKvi")(
          framework, info.data(), static_cast<int>(info.size()))) {
    fprintf(stderr, "no FrameworkInfo\n");
    return 2;
  }
  entry<void(void*, void*, const void*, const std::string&)>(
      "_ZN5mesos20MesosSchedulerDriverC1EPNS_9SchedulerERKNS_13FrameworkInfoERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE")(
      driver, new Callbacks, framework, master);
  entry<int(void*)>("_ZN5mesos20MesosSchedulerDriver5startEv")(driver);
  for (;;) pause();
}
