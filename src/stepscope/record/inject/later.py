"""What Python 3.14 runs in a program that is going on already: put the hooks in place, and wait to be asked.

It is run as a script by `sys.remote_exec` of another process. The `stepscope` that asks is found by its path, so that
the program's Python need not have it installed.
"""

from __future__ import annotations


def put_in_place(package: str, settings: str) -> None:
    """Put the hooks in place, once; what fails is said on standard error, and the program goes on.

    Args:
        package: Folder of the package `stepscope`.
        settings: What to do, as JSON.
    """
    import sys
    from importlib.util import find_spec, module_from_spec, spec_from_file_location

    try:
        if "stepscope" not in sys.modules and find_spec("stepscope") is None:
            spec = spec_from_file_location("stepscope", f"{package}/__init__.py", submodule_search_locations=[package])
            if spec is not None and spec.loader is not None:
                module = module_from_spec(spec)
                sys.modules["stepscope"] = module
                spec.loader.exec_module(module)
        from stepscope.record.job.entering import current, enter
        from stepscope.record.job.imports import wait_for
        from stepscope.record.settings import RecordSettings

        if current() is None:
            wait_for("torch", lambda: enter(RecordSettings.of(settings)))
    except Exception as error:  # the program runs whatever happens here
        print(f"stepscope: nothing is recorded of this process ({error}).", file=sys.stderr)  # noqa: T201
