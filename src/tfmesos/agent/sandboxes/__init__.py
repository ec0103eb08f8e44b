"""Directories of tasks.

work_dir.py  where each is, and how it is made
gc.py        when it goes
trees.py     how: a directory that somebody else filled
"""
