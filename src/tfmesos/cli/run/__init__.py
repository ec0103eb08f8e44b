"""The parts of `tfrun`: its options and their grammar, the terminal, the program around a run, the self-test."""
