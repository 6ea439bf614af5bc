"""Holds files of every format against the JSON schemas in docs/schemas, and wrong ones as well.

usage: schemas.py SOURCE_FOLDER PROGRAM
"""
import contextlib
import copy
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import jsonschema

SOURCE, PROGRAM = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
SCHEMAS = SOURCE / "docs" / "schemas"


def validator(name):
    path = SCHEMAS / f"{name}.schema.json"
    schema = json.loads(path.read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema, resolver=jsonschema.RefResolver(path.as_uri(), schema))


def program(*arguments):
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True)


def documented(document, format):
    """The file of a format that a document shows."""
    blocks = re.findall(r"^```json\n(.*?)^```", (SOURCE / "docs" / document).read_text(), re.MULTILINE | re.DOTALL)
    found = [block for block in blocks if f'"bulkhead.{format}/' in block]
    assert len(found) == 1, f"{document} shows {len(found)} files of {format}"
    return json.loads(found[0])


@contextlib.contextmanager
def written(content):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "some.json"
        path.write_text(json.dumps(content))
        yield path


class Profiles(unittest.TestCase):
    def test_schema_is_the_programs_own(self):
        self.assertEqual(json.loads((SCHEMAS / "profile.schema.json").read_text()),
                         json.loads(program("gpus", "--schema").stdout))

    def test_every_profile_that_ships_fits(self):
        for path in sorted((SOURCE / "profiles").glob("*.json")):
            with self.subTest(path.name):
                validator("profile").validate(json.loads(path.read_text()))

    def test_schema_and_program_refuse_the_same(self):
        good = json.loads((SOURCE / "profiles" / "gtx480.json").read_text())

        def without_source(p): del p["l1"]["ways"]["from"]
        def unknown_source(p): p["l1"]["ways"]["from"] = "hearsay"
        def negative(p): p["l1"]["ways"]["value"] = -4
        def text_for_a_number(p): p["sm"]["count"]["value"] = "15"
        def unknown_key(p): p["l1"]["colour"] = {"value": 1, "from": "assumed: why not"}
        def missing_group(p): del p["dram"]
        def two_kinds_of_digit(p): p["map"]["value"]["row"][0] = {"bits": [1, 2], "xor": [[1]]}

        for break_it in (without_source, unknown_source, negative, text_for_a_number, unknown_key, missing_group,
                         two_kinds_of_digit):
            with self.subTest(break_it.__name__), tempfile.TemporaryDirectory() as folder:
                profile = copy.deepcopy(good)
                break_it(profile)
                self.assertFalse(validator("profile").is_valid(profile))
                path = pathlib.Path(folder) / "broken.json"
                path.write_text(json.dumps(profile))
                self.assertEqual(program("gpus", path).returncode, 2)


class Scenarios(unittest.TestCase):
    def test_example_of_the_document_fits_and_is_read(self):
        example = documented("stress.md", "scenario")
        validator("scenario").validate(example)
        small = example | {"samples": 1, "victims": ["random"], "victim": {"accesses": 64}, "sharing": ["streams"]}
        with written(small) as path:
            answer = program("stress", "--scenario", path)
            self.assertEqual(answer.returncode, 0, answer.stderr)

    def test_schema_and_program_refuse_the_same(self):
        good = {"gpu": "sim:tx2", "aggressors": ["compute"], "samples": 1, "victim": {"accesses": 64}}
        self.assertTrue(validator("scenario").is_valid(good))
        named = {"kind": "compute", "name": "few", "sm_count": 1}
        self.assertTrue(validator("scenario").is_valid(good | {"aggressors": [named]}))
        for change in ({"samples": 0}, {"aggressors": "compute"}, {"speed": 1},
                       {"victim": {"accesses": -1}}, {"aggressors": [{"kind": "compute", "colour": 1}]},
                       {"aggressors": []}, {"sharing": []}, {"victims": []}, {"victim": {"limit_s": 0}},
                       {"aggressors": [{"kind": "compute", "lanes": 33}]}, {"seconds_per_cell": -1},
                       {"aggressors": [{"kind": "compute", "duty_percent": 0}]}, {"victim": {"warps": 33}}):
            with self.subTest(str(change)), tempfile.TemporaryDirectory() as folder:
                scenario = good | change
                self.assertFalse(validator("scenario").is_valid(scenario))
                path = pathlib.Path(folder) / "broken.json"
                path.write_text(json.dumps(scenario))
                self.assertEqual(program("stress", "--scenario", path).returncode, 2)


class MapsAndResults(unittest.TestCase):
    def test_map_of_a_simulated_gpu_fits(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "gtx1080.map.json"
            self.assertEqual(program("dissect", "--gpu", "sim:gtx1080", "--out", path).returncode, 0)
            found = json.loads(path.read_text())
            validator("map").validate(found)
            del found["map"]["row"]
            self.assertFalse(validator("map").is_valid(found))

    def test_results_of_verbs_fit(self):
        for arguments in (["compare", "--workloads", "VA", "--schedulers", "gto,ciao-c", "--size", "test"],
                          ["stress", "--aggressors", "compute", "--samples", "1", "--accesses", "256"],
                          ["gpus"]):
            with self.subTest(arguments[0]):
                answer = program(*arguments, "--json", "-")
                self.assertEqual(answer.returncode, 0, answer.stderr)
                validator("result").validate(json.loads(answer.stdout))

    def test_result_without_columns_is_refused(self):
        self.assertFalse(validator("result").is_valid({"title": "", "rows": []}))

    def test_kept_results_fit(self):
        for path in sorted((SOURCE / "results").rglob("*.json")):
            with self.subTest(path.name):
                kept = json.loads(path.read_text())
                self.assertEqual(list(kept)[0], "schema")
                validator("map" if kept["schema"] == "bulkhead.map/1" else "result").validate(kept)


class Partitions(unittest.TestCase):
    def test_example_of_the_document_fits_and_is_read(self):
        example = documented("isolate.md", "partitions")
        validator("partitions").validate(example)
        with written(example) as path:
            answer = program("isolate", "plan", "--gpu", "sim:gtx1080", "--partitions", path)
            self.assertEqual(answer.returncode, 0, answer.stderr)

    def test_schema_and_program_refuse_the_same(self):
        for wrong in ({"name": "A"}, {"name": "A", "sms": 50}, {"name": "A B", "sms": "50%"},
                      {"name": "A", "sms": "50%", "tenants": 0}, {"name": "A", "sms": "50%", "color": 1}):
            with self.subTest(str(wrong)), written({"partitions": [wrong]}) as path:
                self.assertFalse(validator("partitions").is_valid(json.loads(path.read_text())))
                self.assertEqual(program("isolate", "plan", "--gpu", "sim:gtx1080", "--partitions", path).returncode, 2)


class Versions(unittest.TestCase):
    def setUp(self):
        profile = json.loads((SOURCE / "profiles" / "gtx1080.json").read_text())
        result = json.loads((SOURCE / "results" / "kill-soak.json").read_text())
        address_map = json.loads((SOURCE / "results" / "h200" / "dissect.json").read_text())
        self.readers = {  # a file of each format, and what reads it
            "profile": (profile, ["gpus"]),
            "scenario": (documented("stress.md", "scenario"), ["stress", "--scenario"]),
            "partitions": (documented("isolate.md", "partitions"), ["isolate", "plan", "--partitions"]),
            "result": (result, ["report", "-o", "/dev/null"]),
            "map": (address_map, ["dissect", "--gpu", "sim:gtx1080", "--verify"]),
        }

    def test_a_newer_version_is_refused_by_name(self):
        for format, (file, reader) in self.readers.items():
            with self.subTest(format):
                self.assertEqual(file["schema"], f"bulkhead.{format}/1")
                newer = file | {"schema": f"bulkhead.{format}/2"}
                self.assertFalse(validator(format).is_valid(newer))
                with written(newer) as path:
                    answer = program(*reader, path)
                self.assertEqual(answer.returncode, 2)
                self.assertEqual(answer.stderr.count("\n"), 1, answer.stderr)
                for part in (path.name, f"bulkhead.{format}/2", f"reads bulkhead.{format}/1"):
                    self.assertIn(part, answer.stderr)

    def test_people_may_leave_it_out(self):
        for format in ("profile", "scenario", "partitions", "result"):
            file = dict(self.readers[format][0])
            del file["schema"]
            self.assertTrue(validator(format).is_valid(file), format)

    def test_every_written_file_begins_with_it(self):
        for format, arguments in (("profile", ["gpus", "tx2"]), ("result", ["gpus"]), ("result", ["workloads"]),
                                  ("plan", ["isolate", "plan", "--gpu", "sim:gtx1080", "--partitions", "2"]),
                                  ("run", ["run", "VA", "--size", "test"])):
            with self.subTest(str(arguments)):
                answer = program(*arguments, "--json", "-")
                self.assertEqual(next(iter(json.loads(answer.stdout).items())), ("schema", f"bulkhead.{format}/1"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
