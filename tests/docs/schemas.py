"""Holds files of every format against the JSON schemas in docs/schemas, and wrong ones as well.

usage: schemas.py SOURCE_FOLDER PROGRAM
"""
import copy
import json
import pathlib
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
    def test_examples_fit(self):
        for path in sorted((SOURCE / "examples").glob("*.scenario.json")):
            with self.subTest(path.name):
                validator("scenario").validate(json.loads(path.read_text()))

    def test_schema_and_program_refuse_the_same(self):
        good = {"gpu": "sim:tx2", "aggressors": ["compute"], "samples": 1, "victim": {"accesses": 64}}
        self.assertTrue(validator("scenario").is_valid(good))
        named = {"kind": "compute", "name": "few", "sm_count": 1}
        self.assertTrue(validator("scenario").is_valid(good | {"aggressors": [named]}))
        for change in ({"samples": 0}, {"aggressors": "compute"}, {"speed": 1}, {"placements": ["beside"]},
                       {"victim": {"accesses": -1}}, {"aggressors": [{"kind": "compute", "colour": 1}]},
                       {"aggressors": []}, {"placements": []}, {"victims": []}, {"victim": {"limit_s": 0}},
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
                validator("map" if "kind" in kept else "result").validate(kept)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
