#!/bin/sh
# The page that compare writes, as a browser shows it: nothing from a network, no script, names that are text, pictures
# that load, and no wider than a telephone. Its numbers are made up by test_compare_table.
program=$builddir/tests/commands/test_compare_table
skip_all()
{
  echo "1..0 # SKIP $1"
  exit 0
}
[ -x "$program" ] || skip_all "$program is not built"
command -v gnuplot >/dev/null || skip_all 'there is no gnuplot'
. "$srcdir/tests/support/report.sh"
# check STATUS TEXT prints a result; a status of 0 is success.
check() { report "$2" "$([ "$1" = 0 ] || echo "status $1")"; }

(cd "$scratch" && "$program" report "$scratch/report" >"$scratch/output")
status=$?
grep -q 'no jansson' "$scratch/output" && skip_all 'this build has no jansson'
echo 1..18
check $status 'the report is written, into a new folder'
[ ! -e "$scratch/harm" ]
check $? 'the value of an option is not run as a command'
"$program" report "$scratch/again" && "$program" report "$scratch/again" && diff -r "$scratch/report" "$scratch/again"
check $? 'the same lines give the same bytes, also in an existing folder'
page=$scratch/report/index.html
! grep -oE "(src|href|action)='[^']*'|url\([^)]*\)|@import[^;]*" "$page" | grep -vE "'(#[a-z0-9-]+|[a-z0-9-]+\.svg)'\$"
check $? 'the page links only to its own parts and pictures'
! grep -qiE '<script|<link|<iframe|<object| on[a-z]+=' "$page"
check $? 'the page has no script, and names are text'
missing=''
for picture in $(grep -oE "src='[^']*'" "$page" | sed "s/src='//; s/'//"); do
  grep -q '</svg>' "$scratch/report/$picture" || missing="$missing $picture"
done
pictures=$(grep -c "<img src='[a-z0-9-]*.svg' alt='[^']" "$page")
[ -z "$missing" ] && [ "$pictures" = 8 ]
check $? "eight pictures with a text for readers who cannot see them:$missing"
# texts NAME prints the texts of a picture, one a line.
texts()
{
  grep -o '<text>.*</text>' "$scratch/report/$1.svg" | sed 's/<[^>]*>//g; s/^ *//'
}
texts convergence-1 | grep -qx 8 && grep -q '<li>parilu, orthogonalise twice, trisolve_sweeps 12345, b=' "$page"
check $? 'a picture numbers its curves, and their names, of any length, are below it'
! texts fill-1 | grep -q '^-' && texts fill-1 | grep -qx 0
check $? 'the axis of fill begins at 0'
if command -v xmllint >/dev/null; then
  # The parser knows the elements of HTML 4 alone.
  xmllint --html --noout "$page" 2>&1 | grep ' error ' |
    grep -vE 'Tag (header|nav|main|section|figure|figcaption) invalid'
  [ $? = 1 ]
  check $? 'the page is well-formed'
  for picture in "$scratch"/report/*.svg; do xmllint --noout --nonet "$picture" || echo "$picture"; done >"$scratch/bad"
  [ ! -s "$scratch/bad" ]
  check $? 'the pictures are well-formed'
else
  skip 'the page is well-formed' 'there is no xmllint'
  skip 'the pictures are well-formed' 'there is no xmllint'
fi

for browser in chromium chromium-browser google-chrome none; do
  command -v $browser >/dev/null && break
done
# A page around the report, whose title has what the browser shows: how many pictures have a size, how wide the page is
# in a window of a width in pixels, and how many elements the names have made. The report itself has no script.
# probe WIDTH
probe()
{
  cat >"$scratch/probe.html" <<END
<title>nothing</title><iframe id="f" src="report/index.html" style="width:$1px;height:900px;border:0"></iframe><script>
onload = () => {
  const page = document.getElementById("f").contentDocument, root = page.documentElement;
  const shown = [...page.images].filter(i => i.complete && i.naturalWidth > 0).length;
  const bold = page.querySelectorAll("td b").length;
  document.title = "pictures " + shown + " of " + page.images.length + ", " + (root.scrollWidth <= $1 ? "fits" :
    "is " + root.scrollWidth + " wide") + ", tables " + page.querySelectorAll("table").length + ", bold " + bold;
};
</script>
END
  timeout 60 $browser --headless --no-sandbox --disable-gpu --allow-file-access-from-files \
    --user-data-dir="$scratch/user" --dump-dom "file://$scratch/probe.html" 2>/dev/null |
    sed -n 's/.*<title>\(.*\)<\/title>.*/\1/p'
}
if [ $browser = none ] || [ -z "$(probe 1280)" ]; then
  for what in 'in a wide window' 'in a narrow one' 'that shows ink' 'printed'; do
    skip "the page $what" 'there is no chromium that runs here'
  done
else
  for width in 1280 390; do
    seen=$(probe $width)
    [ "$seen" = 'pictures 8 of 8, fits, tables 4, bold 0' ]
    check $? "the page in a window of $width pixels: $seen"
  done
  browse="timeout 60 $browser --headless --no-sandbox --disable-gpu --user-data-dir=$scratch/user"
  echo '<body>' >"$scratch/blank.html"
  $browse --window-size=1280,900 --screenshot="$scratch/blank.png" "file://$scratch/blank.html" >/dev/null 2>&1
  $browse --window-size=1280,900 --screenshot="$scratch/page.png" "file://$page" >/dev/null 2>&1
  blank=$(wc -c <"$scratch/blank.png") size=$(wc -c <"$scratch/page.png")
  [ "$blank" -gt 0 ] && [ "$size" -gt $((10 * blank)) ]
  check $? "a picture of the page takes $size bytes, of an empty one $blank"
  $browse --print-to-pdf="$scratch/page.pdf" "file://$page" >/dev/null 2>&1
  [ "$(head -c 5 "$scratch/page.pdf")" = %PDF- ]
  check $? 'the page prints'
fi
touch "$scratch/again/times-9.svg" "$scratch/again/times-10.svg"
echo "<img src='times-9.svg' alt=''>" >>"$scratch/again/index.html"
"$program" report "$scratch/again" && [ ! -e "$scratch/again/times-9.svg" ] && rm "$scratch/again/times-10.svg" &&
  diff -r "$scratch/report" "$scratch/again"
check $? 'pictures that only the older page shows are removed, and no others'
(trap '' XFSZ && ulimit -f 2 && "$program" report "$scratch/full") 2>"$scratch/error"
[ $? = 2 ] && [ "$(wc -l <"$scratch/error")" = 1 ] && grep -q '^test_compare_table: .*/full/' "$scratch/error"
check $? 'a full disk is an error of one sentence'
(trap '' XFSZ && ulimit -f 2 && "$program" report "$scratch/again") 2>"$scratch/error"
[ $? = 2 ] && diff -r "$scratch/report" "$scratch/again"
check $? 'a full disk leaves the last page unchanged'
mkdir "$scratch/linked" && ln -s "$scratch/page" "$scratch/linked/index.html"
"$program" report "$scratch/linked" 2>"$scratch/error"
[ $? = 2 ] && grep -q 'index.html is not a regular file and will not be overwritten' "$scratch/error" &&
  [ ! -e "$scratch/page" ]
check $? 'a report does not follow a link to another file'
