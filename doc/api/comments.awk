# Makes Doxygen's comments of those in karst.h, line by line; doc/api/Doxyfile names it as the filter of its input.
#
#     /* text */ above a declaration     documents it, and those that follow it without a comment or an empty line
#     code /* text */                    documents what stands before it
#     /* ---- text ---- */               begins a section of the page
#     indented lines of a comment        are items of a list, and two spaces part the name of an item from its text;
#                                        after an empty line they are code

# plain(TEXT) means itself to Doxygen, but that names of functions are links.
function plain(text,    done, name)
{
  gsub(/[\\@<>#%&]|--/, "\\\\&", text)
  while (match(text, /karst_[a-z0-9_]+/)) {
    name = substr(text, RSTART, RLENGTH)
    done = done substr(text, 1, RSTART - 1) (name in functions ? "@link " name " " name "@endlink" : name)
    text = substr(text, RSTART + RLENGTH)
  }
  return done text
}

# in_block(I) is line I of a comment that begins a line.
function in_block(i,    indent, rest, gap)
{
  if (line[i] ~ /^ \*$/) {
    if (code) {
      code = 0
      return "@endverbatim"
    }
    code = line[i + 1] ~ /^ \*     /
    return code ? " * @verbatim" : " *"
  }
  if (code) return substr(line[i], 3)
  match(line[i], /^.[*] */)
  indent = RLENGTH - 2
  rest = substr(line[i], RLENGTH + 1)
  if (indent < 3 || rest ~ /^- /) dashes = indent >= 2 && rest ~ /^- /
  if (indent < 3 || indent > 5 || dashes) return plain(line[i])
  gap = index(rest, "  ")
  rest = gap ? "<b>" plain(substr(rest, 1, gap - 1)) "</b>" plain(substr(rest, gap)) : plain(rest)
  return sprintf(" *%*s- %s", indent - 2, "", rest)
}

{
  line[NR] = $0
  if (/^\/\* ---- /) pages = pages " * - @ref section" ++page "\n"
  if (/^KARST_EXPORT/ && match($0, /karst_[a-z0-9_]+\(/)) functions[substr($0, RSTART, RLENGTH - 1)]
}

END {
  for (i = 1; i <= NR; i++) {
    text = line[i]
    if (block) {
      text = in_block(i)
    } else if (trailing) {
      text = plain(text)
    } else if (i == 1) {
      block = 1
      text = "/** @file\n * @mainpage " plain(substr(text, 4))
    } else if (text ~ /^\/\* ---- .* ---- \*\/$/) {
      text = plain(substr(text, 9, length(text) - 16))
      text = (sections++ ? "/** @} */ " : "") "/** @defgroup section" sections " " text "\n * @{ */"
      i++ # an empty line
    } else if (text ~ /^\/\*/) {
      block = commented = 1
      text = "/**" plain(substr(text, 3))
    } else if ((start = index(text, "/*"))) {
      trailing = 1
      text = substr(text, 1, start - 1) "/**<" plain(substr(text, start + 2))
    } else if (match(text, /^KARST_EXPORT .*karst_[a-z0-9_]+\(|^typedef .* karst_[a-z_]+;|^#define KARST_[A-Z_]+ /)) {
      name = substr(text, RSTART, RLENGTH - 1)
      sub(/.*[ *]/, "", name)
      if (commented) documented = name
      else if (shared && name != documented) text = "/** @copydoc " documented " */ " text
      shared = 1
      commented = 0
    } else if (text ~ /^#define karst_/) {
      text = "" # the name in a library with 64-bit indices
    } else if (text ~ /^$/) {
      shared = 0
    } else if (text ~ /^#ifdef __cplusplus/ && sections) {
      text = "/** @} */ " text
    }
    if (line[i] == " */" && !sections) print " *\n * Sections:\n" pages text
    else print text
    if (line[i] ~ /\*\/$/) block = trailing = 0
  }
}
