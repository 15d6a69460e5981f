"""What a reader does with a report in a browser: filters to one finding, reads its cause, copies its replay, in light and in dark.

The first argument is a JSON object: `browser` and `page` are paths, `findings` says how many there are, `words` are put into the filter,
and `cause` and `replay` are what the only finding left shows. Pictures go to the folder `pictures`, if there is one.
"""

import json
import sys

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import sync_playwright

TOLD = json.loads(sys.argv[1])
ADDRESS = "file://" + TOLD["page"]


def expect(what, expected, got):
    if got != expected:
        sys.exit("%s: expected %r, got %r" % (what, expected, got))


def picture(page, name, **options):
    if TOLD["pictures"]:
        page.screenshot(path="%s/%s.png" % (TOLD["pictures"], name), **options)


def shown(page):
    return [one.get_attribute("id") for one in page.locator("article.finding:visible").all()]


def focused(page):
    return page.evaluate("document.activeElement.id || document.activeElement.className || document.activeElement.tagName")


def row(article, name):
    return article.locator("xpath=.//dt[.='%s']/following-sibling::dd[1]" % name).first.inner_text()


def accessible(page, name):
    found = Axe().run(page)
    expect("accessibility of the page in " + name, 0, found.violations_count and found.generate_report())


def by_keyboard(page):
    page.keyboard.press("Tab")
    expect("the first stop", "skip", focused(page))
    page.keyboard.press("Enter")
    expect("the place", ADDRESS + "#findings", page.url)
    page.keyboard.press("/")
    expect("after /", "filter", focused(page))
    page.keyboard.type(TOLD["words"])
    expect("what the filter counts", "1 of %d" % TOLD["findings"], page.locator("#shown").inner_text())


def filtered(page):
    (one,) = shown(page)
    article = page.locator("#" + one)
    expect("its cause", TOLD["cause"], row(article, "cause"))
    replay = article.locator(".command").first
    expect("its replay", TOLD["replay"], replay.locator("pre").inner_text())
    button = replay.locator("button")
    button.focus()
    page.keyboard.press("Enter")
    page.wait_for_function("button => button.textContent !== 'Copy'", arg=button.element_handle())
    expect("the button", True, button.inner_text() in ("Copied", "Selected"))
    if button.inner_text() == "Copied":
        expect("the clipboard", TOLD["replay"], page.evaluate("navigator.clipboard.readText()"))
    issue = article.locator("details.issue")
    issue.locator("summary").focus()
    page.keyboard.press("Enter")
    expect("the issue is open", "", issue.get_attribute("open"))
    # The link leads another reader to the same finding.
    for link, expected in ((page.url, [one]), (ADDRESS + "#" + one, ["finding-%d" % (n + 1) for n in range(TOLD["findings"])])):
        other = page.context.new_page()
        other.goto(link)
        expect("findings behind the link " + link, expected, shown(other))
        other.close()
    page.locator("#filter").fill("zzz")
    expect("findings behind words of none", 0, len(shown(page)))
    expect("that there are none is said", True, page.locator("#none-shown").is_visible())
    page.locator("#filter").focus()
    page.keyboard.press("Escape")
    expect("findings without a filter", TOLD["findings"], len(shown(page)))
    expect("nothing is said of none", False, page.locator("#none-shown").is_visible())


def kept(page, choice):
    """The theme behind a reload. The browser stores a choice some time after a script made it, so one reload may be too early."""
    for _ in range(20):
        page.reload()
        theme = page.locator("html").get_attribute("data-theme")
        if theme == choice:
            break
        page.wait_for_timeout(100)
    return theme


def themes(page, scheme):
    paper = "getComputedStyle(document.body).backgroundColor"
    before, button = page.evaluate(paper), page.locator("#theme")
    other = {"light": "dark", "dark": "light"}[scheme]
    expect("what the button offers", other.title(), button.inner_text())
    button.focus()
    page.keyboard.press("Space")
    expect("the paper changed", True, page.evaluate(paper) != before)
    expect("the choice is kept", other, kept(page, other))
    page.locator("#theme").click()
    expect("the paper is back", before, page.evaluate(paper))


def read(browser, scheme):
    context = browser.new_context(color_scheme=scheme, viewport={"width": 1280, "height": 900})
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page, said = context.new_page(), []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: request.url.startswith("file:") or said.append(request.url))
    page.goto(ADDRESS)
    ready = page.evaluate("performance.getEntriesByType('navigation')[0].domInteractive")
    expect("findings at first", TOLD["findings"], len(shown(page)))
    accessible(page, scheme)
    picture(page, scheme)
    by_keyboard(page)
    picture(page, scheme + "-filtered")
    filtered(page)
    themes(page, scheme)
    picture(page, scheme + "-whole", full_page=True)
    page.set_viewport_size({"width": 360, "height": 800})
    expect("the page is no wider than a phone", True, page.evaluate("document.documentElement.scrollWidth <= innerWidth"))
    picture(page, scheme + "-narrow")
    expect("what the page said or asked for", [], said)
    context.close()
    return ready


def without_scripts(browser):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(ADDRESS)
    expect("findings without scripts", TOLD["findings"], len(shown(page)))
    context.close()


with sync_playwright() as playwright:
    chromium = playwright.chromium.launch(executable_path=TOLD["browser"], args=["--no-sandbox"])
    times = [read(chromium, scheme) for scheme in ("light", "dark")]
    without_scripts(chromium)
    chromium.close()
    print("interactive after %s ms" % " and ".join("%.0f" % time for time in times))
