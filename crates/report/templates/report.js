"use strict";
(function () {
  var root = document.documentElement;
  var byId = function (id) { return document.getElementById(id); };
  var all = function (selector) { return Array.prototype.slice.call(document.querySelectorAll(selector)); };

  // Light and dark.
  var theme = byId("theme");
  var isDark = function () {
    var chosen = root.getAttribute("data-theme");
    return chosen ? chosen === "dark" : window.matchMedia("(prefers-color-scheme: dark)").matches;
  };
  var remembered = null;
  // A page that was opened as a file may have no storage.
  try { remembered = window.localStorage.getItem("qkvet-theme"); } catch (error) { remembered = null; }
  if (remembered === "dark" || remembered === "light") { root.setAttribute("data-theme", remembered); }
  var named = function () { theme.textContent = isDark() ? "Light" : "Dark"; };
  theme.hidden = false;
  named();
  theme.addEventListener("click", function () {
    var next = isDark() ? "light" : "dark";
    root.setAttribute("data-theme", next);
    try { window.localStorage.setItem("qkvet-theme", next); } catch (error) { /* not remembered */ }
    named();
  });

  // The filter: every word has to occur. `#filter=words` is a link to it.
  var filter = byId("filter");
  var findings = all(".finding");
  var apply = function () {
    var words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    var shown = 0;
    findings.forEach(function (one) {
      var text = one.getAttribute("data-search");
      var isIn = words.every(function (word) { return text.indexOf(word) >= 0; });
      one.hidden = !isIn;
      shown += isIn ? 1 : 0;
    });
    byId("shown").textContent = shown + " of " + findings.length;
    byId("none-shown").hidden = shown > 0;
  };
  var fromLink = function () {
    var match = /^#filter=(.*)$/.exec(window.location.hash);
    if (match) {
      try { filter.value = decodeURIComponent(match[1]); } catch (error) { filter.value = match[1]; }
      apply();
    } else if (/^#finding-\d+$/.test(window.location.hash)) {
      var one = byId(window.location.hash.slice(1));
      if (one && one.hidden) { filter.value = ""; apply(); one.scrollIntoView(); }
    }
  };
  if (filter) {
    byId("search").hidden = false;
    filter.addEventListener("input", function () {
      apply();
      var hash = filter.value ? "#filter=" + encodeURIComponent(filter.value) : "#findings";
      try { window.history.replaceState(null, "", hash); } catch (error) { /* the link stays as it was */ }
    });
    document.addEventListener("keydown", function (event) {
      var isTyping = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName || "");
      if (event.key === "/" && !isTyping && !event.ctrlKey && !event.metaKey) {
        event.preventDefault();
        filter.focus();
      } else if (event.key === "Escape" && event.target === filter && filter.value) {
        filter.value = "";
        filter.dispatchEvent(new Event("input"));
      }
    });
    window.addEventListener("hashchange", fromLink);
    apply();
    fromLink();
  }

  // Copying, also where a page from a file may not use the clipboard.
  var byHand = function (element) {
    var range = document.createRange();
    range.selectNodeContents(element);
    var selection = window.getSelection();
    selection.removeAllRanges();
    selection.addRange(range);
    return document.execCommand("copy");
  };
  all("button[data-copy]").forEach(function (button) {
    button.hidden = false;
    var label = button.textContent;
    button.addEventListener("click", function () {
      var element = byId(button.getAttribute("data-copy"));
      var told = function (isDone) {
        button.textContent = isDone ? "Copied" : "Selected";
        window.setTimeout(function () { button.textContent = label; }, 1500);
      };
      if (navigator.clipboard && window.isSecureContext) {
        navigator.clipboard.writeText(element.textContent).then(
          function () { told(true); },
          function () { told(byHand(element)); }
        );
      } else {
        told(byHand(element));
      }
    });
  });
})();
