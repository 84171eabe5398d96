"""The line of user code in what faulthandler writes."""

from __future__ import annotations

import faulthandler
import queue
import tempfile
import threading
from pathlib import Path

import numpy as np

import harness
from harness.model.event import Site
from harness.session.isolation.whereabouts import line_of

OWN = Path(harness.__file__).parent / "session" / "observe.py"
MAIN, OTHER = 0x7F7AF4229B80, 0x7F7AF0000700
HUNG = f"""Timeout (0:05:00)!
Thread 0x{OTHER:016x} (most recent call first):
  File "/app/loader.py", line 7 in fetch
  File "/usr/lib/python3.11/threading.py", line 975 in run

Thread 0x{MAIN:016x} (most recent call first):
  File "/env/lib/python3.11/site-packages/cupy/_core/core.py", line 9 in get
  File "/app/ops/loss.py", line 31 in forward
  File "/app/ops/step.py", line 5 in step
  File "{OWN}", line 186 in _recorded
"""


def test_a_hang_is_told_by_the_innermost_line_of_the_main_threads_user_code():
    assert line_of(HUNG, main_thread=MAIN) == Site("/app/ops/loss.py", 31, "forward")


def test_a_crash_is_told_by_the_thread_that_crashed():
    dump = HUNG.replace("Timeout (0:05:00)!", "Fatal Python error: Segmentation fault\n")
    dump = dump.replace(f"Thread 0x{OTHER:016x}", f"Current thread 0x{OTHER:016x}")
    assert line_of(dump, main_thread=MAIN) == Site("/app/loader.py", 7, "fetch")


def test_a_thread_may_have_a_name_as_of_python_3_14():
    dump = HUNG.replace(f"0x{MAIN:016x} (", f"0x{MAIN:016x} [python] (")
    assert line_of(dump, main_thread=MAIN) == Site("/app/ops/loss.py", 31, "forward")


def test_where_all_is_the_harness_the_innermost_line_is_told():
    dump = f'Thread 0x{MAIN:016x} (most recent call first):\n  File "{OWN}", line 3 in observe\n'
    assert line_of(dump, main_thread=MAIN) == Site(str(OWN), 3, "observe")


def test_where_nothing_tells_there_is_no_line():
    assert line_of("", main_thread=MAIN) is None
    assert line_of(HUNG, main_thread=1) is None
    nowhere = f"Current thread 0x{MAIN:016x} (most recent call first):\n  <no Python frame>\n"
    assert line_of(nowhere, main_thread=MAIN) is None
    lost = f'Thread 0x{MAIN:016x} (most recent call first):\n  File "a.py", line ??? in f\n'
    assert line_of(lost, main_thread=MAIN) is None


def test_it_reads_what_this_pythons_faulthandler_writes():
    with tempfile.TemporaryFile("w+") as file:
        faulthandler.dump_traceback(file, all_threads=True)
        file.seek(0)
        site = line_of(file.read(), main_thread=threading.get_ident())
    assert site is not None
    assert site.file == __file__
    assert site.function == "test_it_reads_what_this_pythons_faulthandler_writes"


def test_lines_of_the_standard_library_and_of_packages_are_nobodys():
    dump = "\n".join(
        [
            f"Thread 0x{MAIN:016x} (most recent call first):",
            f'  File "{queue.__file__}", line 171 in get',
            f'  File "{np.__file__}", line 1 in f',
            '  File "<frozen importlib._bootstrap>", line 241 in _call',
            f'  File "{Path(harness.__file__).parent}_ops/loss.py", line 4 in op',
        ]
    )
    site = line_of(dump, main_thread=MAIN)
    assert site is not None
    assert (site.line, site.function) == (4, "op")
