"""The parts of `mesos-execute`: its flags, the request they make, the core that places it, the program around."""
