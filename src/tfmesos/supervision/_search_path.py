"""Where programs are looked for."""

SEARCH_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""PATH where nobody says otherwise: of containers, of their starters and of what is run for them."""
