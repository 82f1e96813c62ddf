# SPDX-License-Identifier: Apache-2.0
"""run.py FILE [FOLDER] - run the tests of this folder, or of one in it.

FILE gets a line for each: ok NAME, skip NAME WHY or failed NAME WHY.
"""

import os
import sys
import traceback
import unittest


class Lines(unittest.TestResult):
    def __init__(self, file):
        super().__init__()
        self.file = file

    def line(self, verdict, test, why=""):
        print(verdict, test.id(), " ".join(str(why).split())[:300], file=self.file)

    def addSuccess(self, test):
        self.line("ok", test)

    def addSkip(self, test, reason):
        self.line("skip", test, reason)

    def addFailure(self, test, error):
        super().addFailure(test, error)
        traceback.print_exception(*error)
        self.line("failed", test, error[1])

    addError = addFailure


def main():
    here = os.path.join(os.path.dirname(os.path.abspath(__file__)), *sys.argv[2:])
    with open(sys.argv[1], "w") as file:
        result = Lines(file)
        unittest.defaultTestLoader.discover(here, top_level_dir=here).run(result)
    return 0 if result.wasSuccessful() and result.testsRun else 1


if __name__ == "__main__":
    sys.exit(main())
