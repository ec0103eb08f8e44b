"""Directories of tasks.

work_dir.py  where each is, and how it is made
gc.py        when it goes
inner.py     what is made in them, where links may be; those nested in others
trees.py     how: a directory that somebody else filled
"""
