"""`python -m goldgap` is `goldgap`."""

from goldgap.cli import main

main()
