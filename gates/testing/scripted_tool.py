#!/usr/bin/env python3
"""A tool that watches an engine, of a few lines: runs it and writes a report.

    scripted_tool.py MODE --tool NAME --log FILE PROGRAM ARGUMENT ...

MODE: clean, errors (2 of them under `racecheck`, as hazards), excuse (it says that it does not work here, and ends), silent (no closing
line), crash (the engine is killed at once)
"""
import subprocess
import sys

CLOSING = {"racecheck": "RACECHECK SUMMARY: {} hazards displayed ({} errors, 0 warnings)"}


def main():
    mode, tool, log = sys.argv[1], sys.argv[3], sys.argv[5]
    lines = ["COMPUTE-SANITIZER"]
    if mode == "excuse":
        lines.append("Error: Device not supported. Please refer to the documentation.")
    elif mode == "crash":
        lines.append("the program under watch is on its way")
    else:
        subprocess.call(sys.argv[6:])
        found = 2 if mode == "errors" and tool == "racecheck" else 0
        if found:
            lines.append("Race reported between Write access at copy_rows+0x10 and Read access at copy_rows+0x40")
        if mode != "silent":
            lines.append(CLOSING.get(tool, "ERROR SUMMARY: {} errors").format(found, found))
    with open(log, "w") as report:
        report.write("".join(f"========= {line}\n" for line in lines))


if __name__ == "__main__":
    main()
