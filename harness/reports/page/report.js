"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const at = (id) => document.getElementById(id);
  const make = (tag, text, name) => {
    const made = document.createElement(tag);
    if (text !== undefined) made.textContent = text;
    if (name) made.className = name;
    return made;
  };
  const add = (parent, ...children) => { parent.append(...children); return parent; };

  const head = () => {
    at("verdict").textContent = data.word;
    at("verdict").className = data.word === "KEPT" ? "KEPT" : "BAD";
    at("sentence").textContent = data.sentence;
    document.title = `${data.word}: run-loop-harness report`;
    for (const [name, value] of data.facts) {
      add(at("facts"), add(make("div"), make("dt", name), make("dd", value)));
    }
    for (const entry of data.stale) add(at("sentence").parentNode, make("p", `stale: ${entry}`, "BAD"));
  };

  const matrix = () => {
    const top = add(make("tr"), make("th", "promise"));
    top.firstChild.scope = "col";
    for (const column of data.columns) { const cell = make("th", column); cell.scope = "col"; add(top, cell); }
    const body = make("tbody");
    for (const [check, cells] of data.rows) {
      const name = make("th", check);
      name.scope = "row";
      const rule = data.rules[check];
      if (rule) name.title = `${rule[1]} (${rule[0]}; ${rule[2]})`;
      const row = add(make("tr"), name);
      for (const [kept, judged, broken] of cells) {
        const text = judged === 0 ? "-" : broken ? `${kept}/${judged} FAIL` : kept === judged ? `${kept}` : `${kept}/${judged}`;
        add(row, make("td", text, broken ? "bad" : judged === 0 ? "none" : ""));
      }
      add(body, row);
    }
    add(at("matrix"), add(make("thead"), top), body);
  };

  const line = (label, text) => add(make("p"), make("span", label, "label"), document.createTextNode(text));

  const finding = ([word, check, level, place, expected, actual]) => {
    const block = make("div", undefined, "finding");
    add(block, add(make("p"), make("span", word.toUpperCase(), word), document.createTextNode(`  ${check}  [${level}]`)));
    const rule = data.rules[check];
    if (rule) add(block, line("promise", rule[1]), line("source", rule[2]));
    if (place) add(block, line("where", place));
    return add(block, line("expected", expected), line("actual", actual));
  };

  const copied = (text) => {
    const button = make("button", "Copy");
    button.type = "button";
    button.setAttribute("aria-label", `Copy: ${text}`);
    button.addEventListener("click", () => {
      navigator.clipboard?.writeText(text).then(() => { button.textContent = "Copied"; }, () => { button.textContent = "Not allowed"; });
    });
    return button;
  };

  const article = (one) => {
    const block = add(make("article"), make("h3", `${one.scenario}, ${one.column}`));
    if (one.fault) add(block, line("fault", one.fault));
    for (const each of one.findings) add(block, finding(each));
    return add(block, add(make("p"), make("span", "replay", "label"), make("code", one.replay), document.createTextNode(" "), copied(one.replay)));
  };

  const haystack = (one) => [one.scenario, one.column, one.fault, ...one.findings.flat()].join(" ").toLowerCase();
  const searchable = data.cases.map((one) => [haystack(one), one]);
  const PAGE = 100;

  const show = (words, most = PAGE) => {
    const fits = searchable.filter(([text]) => words.every((word) => text.includes(word))).map(([, one]) => one);
    at("cases").replaceChildren(...fits.slice(0, most).map(article));
    if (fits.length > most) {
      const more = make("button", `Show ${Math.min(PAGE, fits.length - most)} more`);
      more.type = "button";
      more.addEventListener("click", () => { show(words, most + PAGE); at("cases").children[most]?.scrollIntoView(); });
      add(at("cases"), more);
    }
    const left = data.left ? `; ${data.left} more stand in run.jsonl only` : "";
    at("count").textContent = `${fits.length} of ${data.cases.length} cases${left}`;
  };

  head();
  matrix();
  show([]);
  at("filter").addEventListener("input", () => show(at("filter").value.toLowerCase().split(/\s+/).filter(Boolean)));
})();
