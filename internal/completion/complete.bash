# Completion of @PROGRAM@ for bash: put  eval "$(@PROGRAM@ completion bash)"  into ~/.bashrc.
_@FUNCTION@_complete() {
    local text=${COMP_LINE:0:COMP_POINT} word words last breaks before
    read -ra words <<<"$text"
    if [[ $text == *[[:space:]] ]]; then words+=(""); fi
    last=${words[${#words[@]} - 1]}

    # bash replaces only what follows the last = or : of a word.
    breaks=${COMP_WORDBREAKS//[^=:]/}
    before=
    if [[ -n $breaks && $last == *["$breaks"]* ]]; then before=${last%"${last##*["$breaks"]}"}; fi

    COMPREPLY=()
    while IFS=$'\t' read -r word _; do
        case $word in
        :files) _@FUNCTION@_files -f ;;
        :folders) _@FUNCTION@_files -d ;;
        *) COMPREPLY+=("${word#"$before"}") ;;
        esac
    done < <("${words[0]}" complete "${words[@]:1}" 2>/dev/null)
}

_@FUNCTION@_files() {
    local file
    compopt -o filenames 2>/dev/null
    while IFS= read -r file; do
        COMPREPLY+=("$file")
    done < <(compgen "$1" -- "${last#"$before"}")
}

complete -F _@FUNCTION@_complete @PROGRAM@
