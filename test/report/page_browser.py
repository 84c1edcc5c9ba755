"""Drives a headless Chromium for the tests of the report's page: page_test, page_use_test, page_numbers_test
and page_runs_test."""
import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCES = pathlib.Path(__file__).resolve().parents[2] / "src" / "report" / "page"
GLOSSARY = pathlib.Path(__file__).resolve().parents[2] / "mpi_launch" / "guide" / "glossary.md"
DEBIAN_PYTHON = "/usr/bin/python3"
NAME = pathlib.Path(sys.argv[0]).name
# Debian's, in which the tests take two thirds of the time. Its script on the PATH would leave the browser running.
HEADLESS_SHELL = "/usr/lib/chromium/chromium-headless-shell"
WIDE, NARROW = 1280, 390


def skip(why):
    print(f"{NAME}: skipped: {why}\n{NAME}: to have it: mpi_launch/install_packages browser")
    sys.exit(77)


def import_selenium():
    """Debian's Selenium belongs to Debian's Python, which need not be the first on the PATH."""
    try:
        import selenium.webdriver
        return selenium.webdriver
    except ImportError:
        here = [DEBIAN_PYTHON, "-c", "import selenium"]
        known = os.path.exists(DEBIAN_PYTHON) and subprocess.run(here, stderr=subprocess.DEVNULL).returncode == 0
        if not known or os.path.realpath(sys.executable) == os.path.realpath(DEBIAN_PYTHON):
            skip("Python knows no module selenium")
        os.execv(DEBIAN_PYTHON, [DEBIAN_PYTHON, *sys.argv])


def start_browser(webdriver):
    from selenium.common.exceptions import WebDriverException
    from selenium.webdriver.chrome.service import Service
    programs = filter(None, map(shutil.which, (HEADLESS_SHELL, "chromium", "google-chrome")))
    program, driver = next(programs, None), shutil.which("chromedriver")
    if not program or not driver:
        skip("there is no chromium, or no chromedriver, on the PATH")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for argument in ("--headless=new", "--disable-gpu", "--hide-scrollbars", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    if os.getuid() == 0:
        options.add_argument("--no-sandbox")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    try:
        return webdriver.Chrome(service=Service(driver), options=options)
    except WebDriverException as error:
        return skip(f"Chromium does not start: {error.msg.strip().splitlines()[0]}")


def fill_page(comparison):
    scripts = "".join(path.read_text() for path in sorted(SOURCES.glob("page_*.js")))
    data = json.dumps(comparison, allow_nan=False).replace("<", "\\u003c")
    page = (SOURCES / "page.html").read_text()
    style = "".join(path.read_text() for path in sorted(SOURCES.glob("page*.css")))
    rows = re.findall(r"^\| \*\*(.*) \| (.*) \|$", GLOSSARY.read_text(), flags=re.M)
    words = "".join(json.dumps([re.sub(r"[*`]", "", cell).replace("\\|", "|") for cell in row]) + ",\n" for row in rows)
    for place, text in (("/*EAVE_STYLE*/", style), ("/*EAVE_SCRIPT*/", scripts), ("/*EAVE_GLOSSARY*/", words), ("/*EAVE_DATA*/null", data)):
        assert page.count(place) == 1, place
        page = page.replace(place, text)
    return page


class BrowserTest(unittest.TestCase):
    """A test that opens pages: texts in `pages`, or files in `directory`."""

    browser = directory = shots = None
    pages = {}

    def open(self, name, width=WIDE):
        path = self.directory / f"{name}.html"
        if not path.exists():
            path.write_text(self.pages[name])
        self.command("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        for log in ("browser", "performance"):
            self.browser.get_log(log)
        self.browser.get(path.as_uri())
        return path.as_uri()

    def command(self, name, **parameters):
        return self.browser.execute_cdp_cmd(name, parameters)

    def script(self, text, *arguments):
        return self.browser.execute_script(text, *arguments)

    def all(self, selector):
        return self.browser.find_elements("css selector", selector)

    def click(self, element):
        self.script("arguments[0].scrollIntoView({block: 'center'})", element)
        element.click()

    def hold_quiet(self, address):
        """Nothing in the console, no request but for the page, no number that is none."""
        self.assertEqual([entry["message"] for entry in self.browser.get_log("browser")], [])
        events = [json.loads(entry["message"])["message"] for entry in self.browser.get_log("performance")]
        sent = [event["params"] for event in events if event["method"] == "Network.requestWillBeSent"]
        asked = {parameters["request"]["url"] for parameters in sent}
        self.assertEqual({url for url in asked if not url.startswith("data:")} - {address}, set())
        text = self.script("return document.getElementById('page').outerHTML")
        self.assertEqual(re.findall(r".{0,80}(?:NaN|undefined|Infinity|\[object).{0,20}", text), [])


class ArgumentParser(argparse.ArgumentParser):
    def error(self, message):
        self.exit(64, f"{self.prog}: {message}\n")


def run_tests(case, tests):
    """Runs the tests of a class in one browser, and ends the program with their result."""
    case.browser = start_browser(import_selenium())
    with tempfile.TemporaryDirectory(prefix=f"{NAME}.") as directory:
        case.directory = pathlib.Path(directory)
        try:
            suite = unittest.main(argv=[NAME, "-v", *(f"{case.__name__}.{name}" for name in tests)], exit=False)
        finally:
            case.browser.quit()
    sys.exit(0 if suite.result.wasSuccessful() else 1)
