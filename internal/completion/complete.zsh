#compdef @PROGRAM@
# Completion of @PROGRAM@ for zsh: put  eval "$(@PROGRAM@ completion zsh)"  into ~/.zshrc, after compinit.
_@FUNCTION@_complete() {
    local line program=${(Q)~words[1]}
    local -a found
    for line in "${(@f)$("$program" complete "${(@Q)words[2,CURRENT]}" 2>/dev/null)}"; do
        case $line in
        '') ;;
        :files) compset -P '--*='; _files ;;
        :folders) compset -P '--*='; _files -/ ;;
        *) found+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}") ;;
        esac
    done
    if (( $#found )); then _describe -V @PROGRAM@ found; fi
}
# In a folder of fpath the file is the function; otherwise it is sourced.
if [[ ${funcstack[1]} == _@PROGRAM@ ]]; then
    _@FUNCTION@_complete "$@"
else
    compdef _@FUNCTION@_complete @PROGRAM@
fi
