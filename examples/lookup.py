#!/usr/bin/env python3
"""A service for `inro eval --service`: one JSON object in, one JSON value out.

SPDX-License-Identifier: Apache-2.0
"""
import json
import sys

PRICES = {"tea": 350, "coffee": 420, "cake": 500}

request = json.load(sys.stdin)  # {"method": "call", "args": ["tea"], "kwargs": {}}
item = request["args"][0] if request["args"] else None
if request["method"] != "call" or not isinstance(item, str):
    sys.exit(1)  # the script sees that the service failed, and nothing of why
print(json.dumps(PRICES.get(item)))
