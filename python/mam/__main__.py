# SPDX-License-Identifier: Apache-2.0
"""python -m mam ARGUMENT...: run the command mam (mam(1)), which replaces this process."""

import os
import sys

from mam.command import find


def main() -> None:
    """Run the command with the arguments of this process; does not return."""
    command = find()
    os.execv(command, ["mam", *sys.argv[1:]])


if __name__ == "__main__":
    main()
