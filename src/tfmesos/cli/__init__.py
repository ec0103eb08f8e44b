"""The programs: each parses its command line, calls one room and prints."""
