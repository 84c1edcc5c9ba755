"""Draws one trial from its seed, runs it, and judges it."""
import os
import random
import shlex
import traceback

import calls
import judge
import kinds
import namespaces
import place as places
import plan as plans


def draw(seed, only, base, place):
    """Returns the kind and the plan of the trial with this seed."""
    rng = random.Random(seed)
    names = sorted(only or kinds.KINDS)
    kind = rng.choices(names, [kinds.KINDS[name][0] for name in names])[0]
    return kind, kinds.KINDS[kind][1](rng, place, base)


def shown(eave, call):
    words = [word.decode("utf-8", "replace") if isinstance(word, bytes) else word for word in calls.command_of(eave, call)]
    environment = "".join(f"{name}={shlex.quote(value)} " for name, value in call.environment.items())
    more = "".join(f" [{name} {value}]" for name, value in (("limits", call.limits), ("signal", call.signal), ("closed", call.closed),
                                                            ("output", call.output)) if value)
    return (environment + shlex.join(words))[:600] + more


def perform(plan, place, base, has_own_mounts):
    """Makes the calls of a plan. Returns the complaints and the outcomes."""
    if has_own_mounts:
        namespaces.take_shared_memory()
    devices = namespaces.devices()
    before, outcomes, told = places.snapshot(place.root), [], []
    for call in plan.calls:
        outcome = calls.run(base.eave, call, place)
        outcomes.append(outcome)
        told += judge.judge_call(outcome, plan)
        if plan.between and len(outcomes) == 1:
            told += plan.between(outcome) or []
    told += [f"outside of the run directory: {each}" for each in places.changes(before, places.snapshot(place.root), plan.may_change)]
    if has_own_mounts and namespaces.devices() != devices:
        told.append("files in /dev have changed")
        namespaces.make_devices()
    if has_own_mounts and not plan.may_leave_memory:
        told += [f"/dev/shm/{name} is left" for name in namespaces.take_shared_memory()]
    if plan.check:
        told += plan.check(outcomes)
    return told, outcomes


def run(seed, only, base, root, has_own_mounts, keep):
    """Runs one trial. Returns a result to print and to keep."""
    place = places.Place(root)
    result = {"seed": seed, "kind": "?", "what": "", "outcome": "passed", "why": [], "commands": [], "codes": [], "said": []}
    plan, outcomes = None, []
    try:
        result["kind"], plan = draw(seed, only, base, place)
        result["what"] = plan.what
        told, outcomes = perform(plan, place, base, has_own_mounts)
        result |= {"outcome": "failed" if told else "passed", "why": told, "codes": [each.code for each in outcomes]}
    except plans.Skip as why:
        result |= {"outcome": "skipped", "why": [str(why)]}
    except Exception:
        result |= {"outcome": "failed", "why": ["the campaign itself: " + traceback.format_exc()]}
    finally:
        if plan is not None and plan.clean_up:
            plan.clean_up()
        if not keep:
            place.remove()
    if result["outcome"] == "failed" and plan is not None:
        result["commands"] = [shown(base.eave, call).replace(str(root), "$T") for call in plan.calls]
        result["said"] = [line for each in outcomes for line in (each.err or each.out).decode("utf-8", "replace").splitlines()[-6:]]
    os.chdir("/")
    return result
