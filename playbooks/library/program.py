#!/usr/bin/python
"""A role's own program on a host: it compares what is with what should be, and brings it about."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory

from ansible.module_utils.basic import AnsibleModule  # type: ignore[import-untyped]  # (ansible has no types)

DOCUMENTATION = """
module: program
short_description: Run a role's program, also in check mode and before it is laid out
description:
  - The program is Python, from the role's C(files). It is run from a folder of the task, so that check mode
    works on a host that does not have it yet; what runs at boot is the same text, as a file.
  - It gets one JSON object on its standard input, C(input) with C(check), and C(secret) where there is one,
    and answers with one, C(changes), C(drift) and C(failed), each of which may be missing.
options:
  src:
    description: The program's file on the controller.
    type: path
    required: true
  modules:
    description: Files on the controller that it imports; the role lays them beside it.
    type: list
    elements: path
    default: []
  input:
    description: What should be.
    type: dict
    default: {}
  secret:
    description: Path of a JSON file on the controller, handed over and shown nowhere.
    type: path
  texts:
    description: Set by the action plugin. Name of each file, to its text.
    type: dict
  handed:
    description: Set by the action plugin, the secret.
    type: dict
"""
RETURN = """
changes:
  description: What was, or in check mode would be, changed.
  returned: always
  type: list
  elements: str
drift:
  description: What differs, in check mode.
  returned: in check mode
  type: list
  elements: dict
"""


def main() -> None:
    """Run as a module."""
    spec = {
        "src": {"type": "path", "required": True},
        "modules": {"type": "list", "elements": "path", "default": []},
        "input": {"type": "dict", "default": {}},
        "secret": {"type": "path", "no_log": False},
        "texts": {"type": "dict", "required": True, "no_log": True},  # Ansible logs arguments on the host
        "handed": {"type": "dict", "default": {}, "no_log": True},
    }
    module = AnsibleModule(argument_spec=spec, supports_check_mode=True)
    asked = {**module.params["input"], "check": module.check_mode, "secret": module.params["handed"]}
    with TemporaryDirectory(dir=module.tmpdir) as folder:
        for name, text in module.params["texts"].items():
            Path(folder, name).write_text(text)
        command = ["python3", "-B", str(Path(folder, Path(module.params["src"]).name)), "--apply"]
        code, out, err = module.run_command(command, data=json.dumps(asked))
    try:
        answer = json.loads(out)
    except ValueError:
        said = (err or out).strip().splitlines() or [f"exit code {code}"]
        module.fail_json(msg=f"{module.params['src']}: {said[-1]}")
    if answer.get("failed"):
        module.fail_json(msg=answer["failed"], changes=answer.get("changes", []))
    changes = answer.get("changes", [])
    drift = {"drift": answer.get("drift", [])} if module.check_mode else {}
    module.exit_json(changed=bool(changes), changes=changes, **drift)


if __name__ == "__main__":
    main()
