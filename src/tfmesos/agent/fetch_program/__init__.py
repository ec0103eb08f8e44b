"""The program that fetches what tasks ask for; runs as the task's user, in its sandbox, knowing only its job.

    python -P -m tfmesos.agent.fetch_program

job.py        what is to be fetched: environment variables in the child
sources.py    where bytes come from: files of this machine, http, https, ftp
ftp.py        how bytes come from an FTP server
places.py     where they go: a directory that nothing can leave
archives.py   what is extracted
uris.py       how a URI is shown
__main__.py   one URI after the other; exit status 1 with a line on stdout and in the log for the first that fails
"""
