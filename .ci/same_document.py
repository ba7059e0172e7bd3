"""same_document.py YAML JSON: fails unless both files hold the same document.

PyYAML reads YAML 1.1, in which a bare `no` is a boolean and a bare 2026-11-21 a date.
"""

import json
import sys

import yaml

with open(sys.argv[1], encoding="utf-8") as yaml_file, open(sys.argv[2], "rb") as json_file:
    as_yaml, as_json = yaml.safe_load(yaml_file), json.load(json_file)
if as_yaml != as_json:
    sys.exit("the YAML and the JSON of the description differ")
