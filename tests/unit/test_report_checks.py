"""Reports as test results: what passes and fails, and how CI systems are told."""

from pathlib import Path
from xml.etree import ElementTree

import pytest
from fake_lab import FakeLab
from samples import changed, price_run, proof_report, proof_report_of_many
from test_diff import of_variant, price
from test_proof_report import GOOD, boot, records, report
from test_selftest import odd, run_of
from test_stress import BOOTS
from test_stress import boot as stress_boot
from test_stress import report as trial
from typer.testing import CliRunner

from temper.analysis.checks import Checked, Result, suites
from temper.analysis.price import price_report
from temper.analysis.selftest import exactness_report
from temper.cli import app
from temper.errors import InputError
from temper.record.boot import StoredBoot
from temper.record.outcome import Outcome
from temper.report.as_junit import to_junit
from temper.report.as_ktap import to_ktap
from temper.store import Store

PASSED, FAILED, SKIPPED = Result.PASSED, Result.FAILED, Result.SKIPPED


def results(report: Checked) -> dict[str, Result]:
    """Return suite and check -> how it ended; the suite without kind and feature."""
    return {
        f"{suite.name.partition(': ')[2]}, {check.name}": check.result
        for suite in suites(report)
        for check in suite.checks
    }


def fails(boot: StoredBoot) -> StoredBoot:
    return changed(boot, status="boot_error", error="it hung")


def a_program_fails(boot: StoredBoot) -> StoredBoot:
    exited = {"n": 99, "type": "exit", "program": "real ctx/pipe 5 2", "status": 1}
    return boot.model_copy(update={"records": [*boot.records, exited]})


def test_a_proof_passes_what_came_out_as_expected() -> None:
    assert results(proof_report()) == {
        "off, in force": PASSED,
        "off, prediction": PASSED,
        "stock, in force": PASSED,
        "stock, prediction": PASSED,
        "verdict, proven": PASSED,
        "verdict, all as expected": PASSED,
    }


def test_a_surprise_fails_and_a_proof_that_says_nothing_is_skipped() -> None:
    many = proof_report_of_many()
    many.evidence["stock"]["storm"] = many.evidence["stock"]["storm"].model_copy(
        update={"expected": None}
    )
    found = results(many)
    assert found["lfsr, clock"] is FAILED
    assert found["stock, storm"] is SKIPPED
    # It cannot apply, as expected: that shows nothing.
    assert found["off, leak"] is SKIPPED
    assert found["verdict, all as expected"] is FAILED
    (why,) = [
        check.why
        for suite in suites(many)
        for check in suite.checks
        if (suite.name, check.name) == ("prove kstack: lfsr", "clock")
    ]
    assert why[0] == "VULNERABLE, but BLOCKED is expected"
    assert len(why) == 2


def test_a_mitigation_that_was_off_fails_unless_it_is_a_sabotage() -> None:
    def off_in(name: str) -> dict[str, Result]:
        boots = {**GOOD, **dict([boot(name, records([0] * 20_000, on=False))])}
        return results(report(boots))

    assert off_in("stock")["stock, in force"] is FAILED
    assert "none, in force" not in off_in("none")


def test_a_price_passes_what_was_measured() -> None:
    assert results(price_report(price())) == {
        "off, in force": PASSED,
        "stock, in force": PASSED,
        "stock, syscall/getpid": PASSED,
        "stock, syscall/getppid": PASSED,
        "stock, syscall/invalid": PASSED,
        "stock, ctx/pipe": PASSED,
        "counts, exact": PASSED,
    }
    refused = results(price_report(price(of_variant("stock", fails))))
    assert refused["stock, price"] is FAILED
    assert "stock, ctx/pipe" not in refused
    failed = results(price_report(price(of_variant("stock", a_program_fails))))
    assert failed["counts, ctx/pipe"] is FAILED
    assert failed["stock, syscall/getpid"] is PASSED
    assert "stock, ctx/pipe" not in failed


def test_a_variant_without_a_boot_fails() -> None:
    run = price_run()
    boots = [boot for boot in run.boots if boot.facts.variant == "off"]
    found = results(price_report(run.model_copy(update={"boots": boots})))
    assert found["stock, price"] is FAILED


def test_a_selftest_says_what_differs_and_what_failed() -> None:
    made = exactness_report(
        run_of({1: fails(odd(1, "workload")), 5: odd(5, "classes")})
    )
    ((check,),) = (suite.checks for suite in suites(made))
    assert check.why[0] == "3 of 4 pairs of boots have counts"
    assert check.why[1].startswith("pair 3: ")
    assert check.why[2:] == ("boot 2: it hung",)


def test_a_trial_passes_what_is_clean() -> None:
    good, bad = stress_boot(BOOTS[0]), stress_boot(BOOTS[1], console="BUG: bad\n")
    assert results(trial(good, bad)) == {
        f"boots, {BOOTS[0]}": PASSED,
        f"boots, {BOOTS[1]}": FAILED,
    }
    assert results(trial(good))[f"boots, {BOOTS[1]}"] is FAILED


@pytest.mark.parametrize(
    ("made", "good"),
    [
        (proof_report(), True),
        (proof_report_of_many(), False),
        (proof_report({"off": Outcome.BLOCKED, "stock": Outcome.BLOCKED}), False),
        (report({"off": GOOD["off"]}, part=("off",)), False),
        (price_report(price()), True),
        (price_report(price(of_variant("stock", fails))), False),
        (price_report(price(of_variant("off", fails))), False),
        (price_report(price(lambda boot: changed(boot, exact=False))), False),
        (price_report(price(of_variant("off", a_program_fails))), False),
        (trial(*map(stress_boot, BOOTS)), True),
        (trial(stress_boot(BOOTS[0])), False),
        (exactness_report(run_of({})), True),
        (exactness_report(run_of({3: None})), False),
        (exactness_report(run_of({3: odd(3, "classes")})), False),
    ],
)
def test_something_fails_exactly_if_the_command_does(made: Checked, good: bool) -> None:
    assert (FAILED not in results(made).values()) is good


KTAP = """\
KTAP version 1
1..3
  KTAP version 1
  # Subtest: prove kstack: off
  1..2
  # distinct positions 1, calls 512
  ok 1 in force
  # the best predictor hits 100.00 % of the calls, chance is 1.56 % of 64 offsets
  ok 2 prediction # SKIP VULNERABLE; any will do
ok 1 prove kstack: off
  KTAP version 1
  # Subtest: prove kstack: stock
  1..2
  # distinct positions 33, calls 512
  ok 1 in force
  # VULNERABLE, but BLOCKED is expected
  # line 1 of a warning
  not ok 2 prediction
not ok 2 prove kstack: stock
  KTAP version 1
  # Subtest: prove kstack: verdict
  1..2
  # control: off
  # hardened: stock
  not ok 1 proven
  not ok 2 all as expected
not ok 3 prove kstack: verdict
"""


def test_ktap_has_a_test_for_each_suite_and_each_result_in_a_line() -> None:
    made = proof_report(
        {"off": Outcome.VULNERABLE, "stock": Outcome.VULNERABLE},
        {"off": Outcome.VULNERABLE, "stock": Outcome.BLOCKED},
    )
    off, stock = (made.evidence[name]["prediction"] for name in ("off", "stock"))
    made.evidence["off"]["prediction"] = off.model_copy(update={"expected": None})
    made.evidence["stock"]["prediction"] = stock.model_copy(
        update={"reasons": ["line\n#1 of\x1b a\twarning\ud800\x9b\x85"]}
    )
    assert to_ktap([made]) == KTAP


def test_several_reports_are_one_ktap() -> None:
    lines = to_ktap([proof_report(), price_report(price())]).splitlines()
    assert lines[1] == "1..6"
    assert [line for line in lines if line.startswith("ok ")][-1] == (
        "ok 6 price kstack: counts"
    )


def test_junit_counts_what_it_holds() -> None:
    root = ElementTree.fromstring(to_junit([proof_report_of_many()]).encode())
    cases = root.findall("./testsuite/testcase")
    assert root.tag == "testsuites"
    assert int(root.attrib["tests"]) == len(cases) == 4 * 6 + 3 + 2
    for tag, attribute in (("failure", "failures"), ("skipped", "skipped")):
        for suite in root:
            assert int(suite.attrib[attribute]) == len(suite.findall(f".//{tag}"))
        assert root.findall(f".//{tag}")
    assert int(root.attrib["failures"]) == len(root.findall(".//failure"))
    # Jenkins' schema, junit-10.xsd, has no other attributes here.
    assert root.attrib.keys() == {"name", "tests", "failures", "errors", "time"}
    (clock,) = root.findall("./testsuite[@name='prove kstack: lfsr']/*[@name='clock']")
    (failure,) = clock
    assert failure.attrib["message"] == "VULNERABLE, but BLOCKED is expected"
    assert len((failure.text or "").splitlines()) == 2
    assert root[0].attrib["timestamp"] == "2026-01-01T00:00:00"
    assert {x.attrib["name"] for x in root[0].findall("properties/property")} == {
        "run",
        "command",
    }


def test_junit_tells_how_long_boots_took() -> None:
    root = ElementTree.fromstring(to_junit([trial(*map(stress_boot, BOOTS))]).encode())
    times = [float(case.attrib["time"]) for case in root.iter("testcase")]
    assert len(times) == 2
    assert all(times)
    assert float(root.attrib["time"]) == pytest.approx(sum(times))


def test_junit_holds_what_kernels_print(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEMPER_COMMAND", "./temper")
    odd_ones = "\x00\x1b[31m \ud800 <&> \N{GRINNING FACE}\n"
    boots = [stress_boot(name) for name in BOOTS]
    boots[0] = changed(boots[0], status="boot_error", error=odd_ones)
    made = trial(*boots).model_copy(update={"command": "temper a\x1b"})
    root = ElementTree.fromstring(to_junit([made]).encode())
    assert root.find(".//property[@value='./temper a\ufffd']") is not None
    (failure,) = root.iter("failure")
    assert failure.text is not None
    assert failure.text.startswith("\ufffd\ufffd[31m \ufffd <&> \N{GRINNING FACE}\n")


@pytest.fixture
def stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Store a price."""
    monkeypatch.setenv("TEMPER_DATA", str(tmp_path))
    monkeypatch.delenv("TEMPER_STORE", raising=False)
    run = price_run()
    with Store.open() as store:
        number = store.create_run(run.plan)
        for each in run.boots:
            store.save_boot(number, each)
        store.finish(number)
    return tmp_path


def test_a_stored_run_is_written_in_all_forms(stored: Path) -> None:
    names = {form: stored / f"report.{form}" for form in ("csv", "ktap", "junit")}
    words = [word for form, file in names.items() for word in (f"--{form}", str(file))]
    done = CliRunner().invoke(app, ["report", "1", *words], catch_exceptions=False)
    assert done.exit_code == 0
    assert done.stdout == ""
    assert names["csv"].read_bytes().count(b"\r\n") == 1 + 4 * (5 * 2 + 1)
    assert names["ktap"].read_text().startswith("KTAP version 1\n1..3\n")
    assert ElementTree.parse(names["junit"]).getroot().attrib["tests"] == "7"


def test_stdout_takes_one_form_and_no_tables(stored: Path) -> None:
    def temper(*words: str) -> str:
        done = CliRunner().invoke(app, ["report", "1", *words], catch_exceptions=False)
        return done.stdout

    assert temper("--ktap", "-").splitlines()[-1] == "ok 3 price kstack: counts"
    with pytest.raises(InputError, match="--csv and --junit cannot both be stdout"):
        temper("--csv", "-", "--junit", "-")


def test_a_command_that_boots_writes_them_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = FakeLab(tmp_path, monkeypatch)
    stress = ("stress", "kpkeys", "--kernels", "lockdep")
    with pytest.raises(InputError, match="--json and --ktap cannot both"):
        lab.temper(*stress, "--json", "-", "--ktap", "-")
    with pytest.raises(InputError, match="--plan makes no test results"):
        lab.temper(*stress, "--plan", "--junit", str(tmp_path / "x.xml"))
    assert lab.built == 0
    done = lab.temper(*stress, "--ktap", "-", "--junit", str(tmp_path / "x.xml"))
    assert done.exit_code == 1
    assert "not ok 1 stress kpkeys: boots\n" in done.stdout
    assert "NEVER DONE" not in done.stdout
    assert ElementTree.parse(tmp_path / "x.xml").getroot().attrib["failures"] == "2"
