/* template.c - the page of the report in parts, in which report.c replaces @name@ by a value: one column that a
 * telephone shows too, tables with thin rules as in print, and nothing that colour alone says. Attributes have single
 * quotes, which values escape. */
#include "config.h"

#ifdef HAVE_JANSSON
#include "tools/src/compare/report/compare_write.h"

// clang-format off
const struct compare_template compare_page = {
  .head =
    "<!DOCTYPE html>\n<html lang='en'>\n<head>\n<meta charset='utf-8'>\n"
    "<meta name='viewport' content='width=device-width,initial-scale=1'>\n"
    "<title>Comparison of @cases@</title>\n<style>\n"
    ":root{color-scheme:light;--soft:#57606a;--rule:#d0d7de}*{box-sizing:border-box}\n"
    "body{margin:0 auto;max-width:76rem;padding:1.5rem;background:#fff;color:#1b1f24;"
    "font:16px/1.5 system-ui,sans-serif}\n"
    "h2{line-height:1.25;margin-top:3rem;padding-top:1rem;border-top:1px solid var(--rule)}\n"
    "p,figcaption{max-width:46rem}h2,p,dd,li{overflow-wrap:anywhere}a{color:#005a8d}\n"
    ".soft,figcaption,dt,caption{color:var(--soft)}figcaption{font-size:.88rem}ol{margin:.3rem 0;padding-left:1.8rem}\n"
    "dl{display:grid;grid-template-columns:max-content 1fr;gap:.15rem 1.2rem}dd{margin:0}\n"
    ".figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,21rem),1fr));gap:1.5rem}\n"
    "figure{margin:1rem 0}img{display:block;width:100%;max-width:46rem;height:auto}.wide{overflow-x:auto}\n"
    "table{border-collapse:collapse;font-size:.87rem;font-variant-numeric:tabular-nums;border:solid;"
    "border-width:2px 0}\n"
    "th,td{padding:.28rem .6rem;text-align:right;vertical-align:baseline;white-space:nowrap}caption{text-align:left}\n"
    "thead th{vertical-align:bottom;border-bottom:1px solid;white-space:normal}th[scope=row]{font-weight:400}\n"
    "tbody+tbody tr:first-child>*{border-top:1px solid var(--rule)}\n"
    ".t{text-align:left}.names .t{white-space:normal;overflow-wrap:anywhere;min-width:8.5rem}\n"
    "td.best{background:#e4eff7;font-weight:700}tr:target>*{background:#fff4d6}\n"
    "@media(max-width:40rem){body{padding:1rem}dl{grid-template-columns:1fr}}\n"
    "@media print{@page{size:landscape}body{max-width:none;padding:0;font-size:10pt}.wide{overflow:visible}\n"
    "table{font-size:7.6pt}.figures{grid-template-columns:1fr 1fr 1fr}figure,tr{break-inside:avoid}}\n"
    "</style>\n</head>\n<body>\n<h1>Comparison of linear solvers</h1>\n<p>@cases@, by Karst: @outcomes@</p>\n"
    "<dl>\n<dt>Karst</dt><dd>@versions@</dd>\n<dt>Host</dt><dd>@hosts@</dd>\n<dt>Devices</dt><dd>@devices@</dd>\n"
    "<dt>Run</dt><dd>@dates@</dd>\n<dt>All cases</dt><dd>@common@</dd>\n"
    "<dt>Baseline of speed-ups</dt><dd>@baseline@</dd>\n</dl>\n"
    "<p><a href='#failures'>Cases that did not converge</a><br><a href='#reading'>How to read this page</a></p>\n"
    "<section>\n<h2>Best choices</h2>\n"
    "<p>The case of each matrix that converged in the least time of set-up and solve together, and the one after it."
    "</p>\n<div class='wide' tabindex='0'>\n<table class='names'>\n<thead><tr><th class='t'>matrix</th>"
    "<th>converged</th><th class='t'>best choice</th><th>time</th><th>iterations</th><th class='t'>runner-up</th>"
    "<th>time</th><th>times the best</th></tr></thead>\n<tbody>\n",
  .choice =
    "<tr><th scope='row' class='t'><a href='#matrix-@number@'>@name@</a></th><td>@converged@</td><td class='t'>@best@"
    "</td><td>@best-time@</td><td>@best-iterations@</td><td class='t'>@second@</td><td>@second-time@</td>"
    "<td>@second-ratio@</td></tr>\n",
  .table_end = "</tbody></table>\n</div>\n",
  .figure = "<figure><img src='@picture@' alt='@caption@'>\n<figcaption>@caption@<ol>",
  .curve = "<li>@curve@</li>",
  .figure_end = "</ol></figcaption></figure>\n",
  .missing =
    "<p class='soft'>No picture @picture@: cases that converged are too few, or equal in what it shows.</p>\n",
  .automatic =
    "</section>\n<section>\n<h2>auto against the best fixed choice</h2>\n<p>The preconditioner that auto has chosen, "
    "and the fastest of the others on the same matrix, solver and device. A time is that of the first set-up and "
    "solve. @auto@</p>\n<div class='wide' tabindex='0'>\n<table class='names'>\n",
  .profile = "</section>\n<section>\n<h2>Performance profile</h2>\n",
  .matrix =
    "</section>\n<section id='matrix-@number@'>\n<h2>@name@</h2>\n<p class='soft'>@path@<br>@rows@ rows, @entries@ "
    "entries in the file; @converged@ cases converged.</p>\n"
    "<p>Best choice: <strong>@best@</strong>, @best-time@, @best-iterations@ iterations.</p>\n<div class='figures'>\n",
  .table =
    "</div>\n<div class='wide' tabindex='0'>\n<table><caption>@said@.</caption>\n",
  .failures =
    "</section>\n<section id='failures'>\n<h2>Cases that did not converge</h2>\n<div class='wide' tabindex='0'>\n"
    "<table class='names'>\n<thead><tr><th class='t'>matrix</th><th class='t'>case</th><th class='t'>outcome</th>"
    "<th class='t'>what happened</th></tr></thead>\n<tbody>\n",
  .failure =
    "<tr id='case-@case@'><th scope='row' class='t'>@case-matrix@</th><td class='t'>@case-label@</td>"
    "<td class='t'>@case-outcome@</td><td class='t'>@case-sentence@</td></tr>\n",
  .end =
    "</section>\n<section id='reading'>\n<h2>How to read this page</h2>\n<dl>\n"
    "<dt>time</dt><dd>Wall time of set-up and solve, without reading the matrix and moving it to a device. Where a "
    "case was repeated, factorization and solve are medians. With auto they are the first ones, because its updates "
    "may choose another method.</dd>\n"
    "<dt>short times</dt><dd>Set-up is measured once and includes the first use of threads, files and memory. Below "
    "about 20 ms, cases that do the same may differ by several times. Repeat them, with one thread each.</dd>\n"
    "<dt>set-up</dt><dd>Ordering, symbolic analysis and factorization.</dd>\n"
    "<dt>update + solve</dt><dd>Factorization and solve with new values on the same analysis: medians of --repeat."
    "</dd>\n"
    "<dt>speed-up</dt><dd>The time of the same case with the values of the baseline, over the time of this case; given "
    "where both have converged.</dd>\n"
    "<dt>fill</dt><dd>The entries of the factors over those stored in the file, including zeros that fill up blocks."
    "</dd>\n"
    "<dt>level sets</dt><dd>Of the lower and the upper factor: the steps of a sweep that wait for each other.</dd>\n"
    "<dt>residual</dt><dd>The true residual |b - A x| over |b|, computed from the solution; the largest of several "
    "devices.</dd>\n"
    "<dt>b, k</dt><dd>The block size, and the level of fill.</dd>\n"
    "</dl>\n</section>\n</body>\n</html>\n",
};
// clang-format on
#endif
