"""`python -m egraph_opt`, where the command is not on the path."""

from egraph_opt.cli import main

if __name__ == "__main__":
    main()
