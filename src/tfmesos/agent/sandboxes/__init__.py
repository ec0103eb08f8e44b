"""Directories of tasks.

work_dir.py  where each is, and how it is made
gc.py        when it goes
inner.py     directories and files in them, where links may be
trees.py     how: a directory that somebody else filled
"""
